#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/quantize.h"
#include "checkpoint/tensor_set.h"
#include "formats/formats.h"
#include "reference/gemm/parallel.h"
#include "reference/quantize/element_format.h"
#include "reference/quantize/mx.h"
#include "reference/tensor.h"

namespace lanewise {
namespace {

using reference::ElementFormat;
using reference::kBlockSize;
using reference::Quantized;

constexpr std::string_view kWeightSuffixes[] = {".weight", ".weight_packed"};
constexpr std::string_view kScaleSuffixes[] = {".weight_scale", ".weight_scale_inv", ".scale"};

std::optional<ElementFormat> FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF8E4m3:
      return ElementFormat::kE4m3Fn;
    case DType::kF8E4m3Fnuz:
      return ElementFormat::kE4m3Fnuz;
    case DType::kF8E5m2:
      return ElementFormat::kE5m2;
    case DType::kF8E5m2Fnuz:
      return ElementFormat::kE5m2Fnuz;
    case DType::kU8:
    case DType::kI8:
    case DType::kF4:
      return ElementFormat::kE2m1;
    default:
      return std::nullopt;
  }
}

// A weight and its codes.
struct Pair {
  const TensorSet::Tensor* weight;
  const TensorSet::Tensor* codes;
  ElementFormat format;
  std::string stem;
  // Of the weight as numbers.
  std::vector<std::int64_t> shape;
  // Rows that share a code.
  std::int64_t code_rows;

  std::int64_t rows() const {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
    return rows;
  }
  std::int64_t k() const { return shape.back(); }
};

// The pair's shapes: codes one a row and 32 columns, or one for 32 x 32.
absl::Status SetShape(Pair* pair) {
  const TensorInfo& weight = *pair->weight->info;
  const TensorInfo& codes = *pair->codes->info;
  if (codes.dtype != DType::kF8E8m0 && codes.dtype != DType::kU8) {
    return absl::InvalidArgumentError(absl::StrCat(codes.name, " is ",
                                                   AbslView(DTypeName(codes.dtype)),
                                                   ", expected E8M0 codes (F8_E8M0 or U8)"));
  }
  pair->shape = weight.shape;
  if (pair->shape.size() >= 2) {
    if (pair->format == ElementFormat::kE2m1 && weight.dtype != DType::kF4) pair->shape.back() *= 2;
    std::vector<std::int64_t> expected = pair->shape;
    expected.back() /= kBlockSize;
    pair->code_rows = 1;
    if (pair->k() % kBlockSize == 0 && codes.shape == expected) return absl::OkStatus();
    std::int64_t& rows = expected[expected.size() - 2];
    pair->code_rows = kBlockSize;
    if (pair->k() % kBlockSize == 0 && rows % kBlockSize == 0) {
      rows /= kBlockSize;
      if (codes.shape == expected) return absl::OkStatus();
    }
  }
  const auto text = [](const std::vector<std::int64_t>& shape) {
    std::string list;
    for (const std::int64_t size : shape) absl::StrAppend(&list, list.empty() ? "" : ", ", size);
    return absl::StrCat("[", list, "]");
  };
  return absl::InvalidArgumentError(
      absl::StrCat(codes.name, " is ", text(codes.shape), " for ", weight.name, " ",
                   text(weight.shape), " of ", AbslView(ElementFormatName(pair->format)),
                   ": expected a code for each row or 32 rows, and 32 columns"));
}

// The codes beside a weight, if there are any.
std::optional<Pair> PairOf(const TensorSet& set, const TensorSet::Tensor& weight) {
  const std::optional<ElementFormat> format = FormatOf(weight.info->dtype);
  if (!format) return std::nullopt;
  for (const std::string_view suffix : kWeightSuffixes) {
    if (!weight.name().ends_with(suffix)) continue;
    const std::string stem = weight.name().substr(0, weight.name().size() - suffix.size());
    for (const std::string_view scale : kScaleSuffixes) {
      const TensorSet::Tensor* codes = set.Find(absl::StrCat(stem, AbslView(scale)));
      if (codes != nullptr) return Pair{&weight, codes, *format, stem, {}, 1};
    }
  }
  return std::nullopt;
}

// 32 rows of a pair at a time, from the file's bytes.
absl::Status DequantizeTensor(const TensorSet& set, const Pair& pair, bool float32,
                              const RewriteSink& sink) {
  const std::span<const std::uint8_t> elements = set.Bytes(*pair.weight);
  const std::span<const std::uint8_t> codes = set.Bytes(*pair.codes);
  const std::int64_t row_bytes = pair.k() * reference::ElementBits(pair.format) / 8;
  const std::int64_t row_codes = pair.k() / kBlockSize;
  std::mutex mutex;
  absl::Status status = absl::OkStatus();
  reference::ParallelFor((pair.rows() + kBlockSize - 1) / kBlockSize, [&](std::int64_t task) {
    const std::int64_t first = task * kBlockSize;
    const std::int64_t count = std::min(kBlockSize, pair.rows() - first);
    const std::int64_t code_count = (count + pair.code_rows - 1) / pair.code_rows;
    Quantized q = {Tensor<std::uint8_t, 2>(count, row_bytes),
                   Tensor<std::uint8_t, 2>(code_count, row_codes)};
    std::copy_n(elements.data() + first * row_bytes, q.elements.size(), q.elements.data());
    ReleasePages(set.shards()[pair.weight->shard].file.file_bytes(),
                 elements.subspan(first * row_bytes, count * row_bytes));
    std::copy_n(codes.data() + first / pair.code_rows * row_codes, q.codes.size(), q.codes.data());
    absl::Status one;
    const auto write = [&](const auto& values) {
      if (!values.ok()) return values.status();
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(values->data());
      const std::size_t size = sizeof(*values->data());
      return sink(0, first * pair.k() * static_cast<std::int64_t>(size),
                  {bytes, static_cast<std::size_t>(values->size()) * size});
    };
    if (float32) {
      one = write(DequantizeToFloat(q, pair.format));
    } else {
      one = write(DequantizeToBf16(q, pair.format));
    }
    const std::lock_guard<std::mutex> lock(mutex);
    status.Update(std::move(one));
  });
  return status;
}

bool IsNarrowFloat(DType dtype) {
  return dtype == DType::kF4 || (FormatOf(dtype) && dtype != DType::kU8 && dtype != DType::kI8);
}

}  // namespace

absl::StatusOr<DequantizeReport> DequantizeCheckpoint(const DequantizeRequest& request,
                                                      const RewriteProgress& progress) {
  const absl::StatusOr<TensorSet> set = TensorSet::Open(request.in);
  if (!set.ok()) return set.status();
  DequantizeReport report;
  report.source_bytes = set->total_bytes();
  std::map<const TensorSet::Tensor*, Pair> pairs;
  std::set<const TensorSet::Tensor*> codes;
  for (const TensorSet::Tensor& tensor : set->tensors()) {
    std::optional<Pair> pair = PairOf(*set, tensor);
    if (!pair) continue;
    if (absl::Status status = SetShape(&*pair); !status.ok()) return status;
    codes.insert(pair->codes);
    pairs.emplace(&tensor, *std::move(pair));
  }
  std::vector<RewrittenTensor> tensors(set->tensors().size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSet::Tensor& source = set->tensors()[i];
    if (const auto found = pairs.find(&source); found != pairs.end()) {
      const Pair& pair = found->second;
      tensors[i].outputs = {{absl::StrCat(pair.stem, AbslView(kWeightSuffixes[0])),
                             request.float32 ? DType::kF32 : DType::kBf16, pair.shape}};
      tensors[i].write = [&set, &pair, &request](const RewriteSink& sink) {
        return DequantizeTensor(*set, pair, request.float32, sink);
      };
      ++report.dequantized;
    } else if (codes.count(&source) == 0) {
      if (IsNarrowFloat(source.info->dtype)) report.left.push_back(source.name());
      tensors[i].outputs = {*source.info};
      ++report.copied;
    }
  }
  const absl::StatusOr<std::int64_t> bytes =
      RewriteCheckpoint(*set, {request.in, request.out, request.overwrite, {}}, tensors, progress);
  if (!bytes.ok()) return bytes.status();
  report.bytes = *bytes;
  return report;
}

}  // namespace lanewise
