#include "tools/demo/checkpoint_maker.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "checkpoint/safetensors/safetensors_index.h"
#include "checkpoint/safetensors/safetensors_writer.h"
#include "formats/formats.h"

namespace lanewise::tools {
namespace {

void AppendBf16(Bf16 value, std::vector<std::uint8_t>* bytes) {
  bytes->push_back(static_cast<std::uint8_t>(value.bits()));
  bytes->push_back(static_cast<std::uint8_t>(value.bits() >> 8));
}

// The shape is the maker's own: it has whole bytes.
std::size_t BytesOf(DType dtype, const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(ByteCount(dtype, shape).value_or(0));
}

}  // namespace

void CheckpointMaker::Add(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                          std::vector<std::uint8_t> bytes) {
  tensors_.push_back({{name, dtype, std::move(shape)}, std::move(bytes)});
}

void CheckpointMaker::AddE4m3(const std::string& name, std::int64_t n, std::int64_t k) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n * k));
  for (std::uint8_t& byte : bytes) {
    do {
      byte = static_cast<std::uint8_t>(Random(256));
    } while ((byte & 0x7F) == 0x7F);
  }
  Add(name, DType::kF8E4m3, {n, k}, std::move(bytes));
}

void CheckpointMaker::AddE2m1(const std::string& name, DType dtype,
                              std::vector<std::int64_t> shape) {
  std::vector<std::uint8_t> bytes(BytesOf(dtype, shape));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(Random(256));
  Add(name, dtype, std::move(shape), std::move(bytes));
}

void CheckpointMaker::AddCodes(const std::string& name, DType dtype,
                               std::vector<std::int64_t> shape) {
  std::vector<std::uint8_t> bytes(BytesOf(dtype, shape));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(110 + Random(31));
  Add(name, dtype, std::move(shape), std::move(bytes));
}

void CheckpointMaker::AddFoldingRowCodes(const std::string& name, DType dtype, std::int64_t n,
                                         std::int64_t columns) {
  AddCodes(name, dtype, {n, columns});
  std::vector<std::uint8_t>& bytes = tensors_.back().bytes;
  for (std::int64_t i = 0; i < n * columns; ++i) {
    bytes[i] = bytes[i / columns / 32 * 32 * columns + i % columns];
  }
}

void CheckpointMaker::AddBf16(const std::string& name, std::vector<std::int64_t> shape) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < BytesOf(DType::kBf16, shape) / 2; ++i) {
    AppendBf16(Bf16::FromFloat(static_cast<float>(Random(512)) / 256), &bytes);
  }
  Add(name, DType::kBf16, std::move(shape), std::move(bytes));
}

void CheckpointMaker::AddDequantized(const std::string& name, std::int64_t n, std::int64_t k) {
  const Tensor codes = tensors_.back();
  const std::int64_t code_rows = n / codes.spec.shape[0];
  AddE4m3(name, n, k);
  Tensor& tensor = tensors_.back();
  std::vector<std::uint8_t> values;
  for (std::int64_t i = 0; i < n * k; ++i) {
    const int code = codes.bytes[i / k / code_rows * (k / 32) + i % k / 32];
    AppendBf16(Bf16::FromFloat(std::ldexp(E4m3Fn::FromBits(tensor.bytes[i]).ToFloat(), code - 127)),
               &values);
  }
  tensor.spec.dtype = DType::kBf16;
  tensor.bytes = std::move(values);
}

absl::Status CheckpointMaker::WriteTensors(const std::string& path, std::size_t begin,
                                           std::size_t end) const {
  std::vector<TensorSpec> specs;
  for (std::size_t i = begin; i < end; ++i) specs.push_back(tensors_[i].spec);
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(path, specs, metadata_);
  if (!writer.ok()) return writer.status();
  for (std::size_t i = begin; i < end; ++i) {
    absl::Status status = writer->Write(i - begin, 0, tensors_[i].bytes);
    if (!status.ok()) return status;
  }
  return writer->Finish();
}

absl::Status CheckpointMaker::Write(const std::string& path) const {
  return WriteTensors(path, 0, tensors_.size());
}

absl::Status CheckpointMaker::WriteSharded(const std::string& directory, int shards) const {
  SafetensorsIndex index;
  std::int64_t total_size = 0;
  for (int shard = 0; shard < shards; ++shard) {
    const std::string name = absl::StrFormat("model-%05d-of-%05d.safetensors", shard + 1, shards);
    const std::size_t begin =
        tensors_.size() * static_cast<std::size_t>(shard) / static_cast<std::size_t>(shards);
    const std::size_t end =
        tensors_.size() * static_cast<std::size_t>(shard + 1) / static_cast<std::size_t>(shards);
    absl::Status status = WriteTensors(absl::StrCat(directory, "/", name), begin, end);
    if (!status.ok()) return status;
    for (std::size_t i = begin; i < end; ++i) {
      index.weight_map[tensors_[i].spec.name] = name;
      total_size += static_cast<std::int64_t>(tensors_[i].bytes.size());
    }
  }
  index.total_size = total_size;
  return WriteSafetensorsIndex(absl::StrCat(directory, "/model.safetensors.index.json"), index);
}

}  // namespace lanewise::tools
