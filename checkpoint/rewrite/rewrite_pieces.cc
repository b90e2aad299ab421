#include "checkpoint/rewrite/rewrite_pieces.h"

#include <algorithm>
#include <utility>

#include "checkpoint/files/text.h"

namespace lanewise {
namespace {

std::int64_t BytesRead(const RewrittenTensor& tensor, std::int64_t rows) {
  std::int64_t bytes = 0;
  for (const RewriteInput& input : tensor.inputs) bytes += input.row.OfRows(rows);
  return bytes;
}

std::int64_t BytesMade(const RewrittenTensor& tensor, std::int64_t rows) {
  std::int64_t bytes = 0;
  for (const RewriteOutput& output : tensor.outputs) {
    bytes += (output.row.OfRows(rows) + 63) / 64 * 64;
  }
  return bytes;
}

// Of rows or columns there may be any number then.
bool HasNoElements(const RewrittenTensor& tensor) {
  return tensor.rows == 0 || BytesRead(tensor, tensor.together) == 0;
}

std::int64_t PieceMemory(const RewrittenTensor& tensor, std::int64_t rows) {
  return BytesMade(tensor, rows) + BytesRead(tensor, rows) +
         2 * kPageBlockBytes * std::ssize(tensor.inputs);
}

// Of a piece that holds about `bytes`.
std::int64_t RowsOf(const RewrittenTensor& tensor, std::int64_t bytes) {
  const std::int64_t group = std::max<std::int64_t>(
      1, std::max(BytesMade(tensor, tensor.together), BytesRead(tensor, tensor.together)));
  return std::max<std::int64_t>(1, bytes / group) * tensor.together;
}

}  // namespace

std::int64_t LeastMemory(const RewrittenTensor& tensor) {
  if (!tensor.make) return 2 * kPageBlockBytes;
  if (HasNoElements(tensor)) return 0;
  return PieceMemory(tensor, tensor.together);
}

absl::Status RewritePieces::Begin() {
  absl::StatusOr<SafetensorsWriter> writer =
      SafetensorsWriter::Create(file_.path, file_.specs, file_.metadata);
  if (!writer.ok()) return writer.status();
  writer_ = std::make_unique<SafetensorsWriter>(*std::move(writer));
  return absl::OkStatus();
}

std::optional<Piece> RewritePieces::NextOfContents() {
  for (; tensor_ < file_.tensors.size(); ++tensor_, next_ = 0) {
    const RewrittenTensor& tensor = *file_.tensors[tensor_];
    const TensorSet::Tensor& source = *file_.sources[tensor_];
    if (tensor.make) {
      if (next_ < tensor.rows && !HasNoElements(tensor)) {
        const std::int64_t first = next_;
        const std::int64_t count =
            std::min(RowsOf(tensor, context_.piece_bytes), tensor.rows - first);
        next_ += count;
        return RowsPiece(tensor, output_, first, count);
      }
    } else if (!tensor.outputs.empty() && next_ < source.info->byte_count()) {
      const std::int64_t first = next_;
      const std::int64_t count = std::min(context_.piece_bytes, source.info->byte_count() - first);
      next_ += count;
      return CopyPiece(source, output_, first, count);
    }
    output_ += tensor.outputs.size();
  }
  return std::nullopt;
}

Piece RewritePieces::CopyPiece(const TensorSet::Tensor& source, std::size_t output,
                               std::int64_t first, std::int64_t count) {
  Piece piece;
  piece.memory = count + kPageBlockBytes;
  piece.work = [this, &source, output, first, count]() -> absl::StatusOr<Rest> {
    const auto bytes = context_.set->Bytes(source).subspan(first, count);
    PopulatePages(bytes);
    return Rest(
        [this, &source, output, first, bytes] {
          absl::Status status = Write(output, first, bytes);
          Pass(source, bytes);
          return status;
        },
        [] { return absl::OkStatus(); });
  };
  return piece;
}

Piece RewritePieces::RowsPiece(const RewrittenTensor& tensor, std::size_t output,
                               std::int64_t first, std::int64_t count) {
  Piece piece;
  piece.memory = PieceMemory(tensor, count);
  piece.work = [this, &tensor, output, first, count] { return Make(tensor, output, first, count); };
  return piece;
}

absl::StatusOr<Rest> RewritePieces::Make(const RewrittenTensor& tensor, std::size_t output,
                                         std::int64_t first, std::int64_t count) {
  std::vector<std::span<const std::uint8_t>> inputs;
  for (const RewriteInput& input : tensor.inputs) {
    const auto all = context_.set->Bytes(*input.tensor);
    inputs.push_back(
        all.subspan(first / input.row.rows * input.row.bytes, input.row.OfRows(count)));
    PopulatePages(inputs.back());
  }
  const std::shared_ptr<std::uint8_t> buffer = context_.buffers->Get(BytesMade(tensor, count));
  std::vector<std::span<std::uint8_t>> outputs;
  std::int64_t at = 0;
  for (const RewriteOutput& one : tensor.outputs) {
    outputs.emplace_back(buffer.get() + at, static_cast<std::size_t>(one.row.OfRows(count)));
    at += (one.row.OfRows(count) + 63) / 64 * 64;
  }
  absl::StatusOr<RowsDone> done = tensor.make(first, count, inputs, outputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) Pass(*tensor.inputs[i].tensor, inputs[i]);
  if (!done.ok()) return OfTensor(tensor.inputs[0].tensor->name(), done.status());
  return Rest(
      [this, &tensor, output, first, buffer, outputs]() -> absl::Status {
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          const RowBytes& row = tensor.outputs[i].row;
          absl::Status status = Write(output + i, first / row.rows * row.bytes, outputs[i]);
          if (!status.ok()) return status;
        }
        return absl::OkStatus();
      },
      [done = *std::move(done)] {
        if (done) done();
        return absl::OkStatus();
      });
}

absl::Status RewritePieces::Write(std::size_t output, std::int64_t offset,
                                  std::span<const std::uint8_t> bytes) {
  absl::Status status = writer_->Write(output, offset, bytes);
  if (status.ok() && context_.wrote) context_.wrote(std::ssize(bytes));
  return status;
}

void RewritePieces::Pass(const TensorSet::Tensor& source, std::span<const std::uint8_t> bytes) {
  context_.passed->Add(context_.set->shards()[source.shard].file.file_bytes(), bytes);
}

absl::Status RewritePieces::Complete() {
  if (absl::Status status = writer_->CheckComplete(); !status.ok()) return status;
  return context_.set->CheckUnchanged();
}

absl::Status RewritePieces::Name() {
  absl::Status status = writer_->Finish();
  if (status.ok()) writer_.reset();
  return status;
}

}  // namespace lanewise
