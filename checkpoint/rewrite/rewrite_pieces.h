#ifndef LANEWISE_CHECKPOINT_REWRITE_REWRITE_PIECES_H_
#define LANEWISE_CHECKPOINT_REWRITE_REWRITE_PIECES_H_

// One file of a rewritten checkpoint as pieces of work (ordered_work.h).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/rewrite/rewrite.h"
#include "checkpoint/safetensors/safetensors_writer.h"
#include "checkpoint/stream/buffer_pool.h"
#include "checkpoint/stream/run_files.h"

namespace lanewise {

// What the files of a job share while they are written.
struct RewriteContext {
  const TensorSet* set = nullptr;
  BufferPool* buffers = nullptr;
  std::int64_t piece_bytes = 0;
  PassedPages* passed = nullptr;
  OutputRules rules;
  std::function<void(std::int64_t bytes)> wrote;
};

// A file that is to be written.
struct RewrittenFile {
  std::string path;
  std::map<std::string, std::string> metadata;
  // Its tensors, and what they are made from, in the order of the source.
  std::vector<const TensorSet::Tensor*> sources;
  std::vector<const RewrittenTensor*> tensors;
  std::vector<TensorSpec> specs;  // of all their outputs, in this order
};

// The memory that the smallest piece of a tensor may hold.
std::int64_t LeastMemory(const RewrittenTensor& tensor);

class RewritePieces : public PiecedFile {
 public:
  // Number `lane` of those that are written. The references must outlive this.
  RewritePieces(const RewriteContext& context, const RewrittenFile& file, std::size_t lane)
      : PiecedFile(file.path, context.rules, lane), context_(context), file_(file) {}

 private:
  absl::Status Begin() override;
  std::optional<Piece> NextOfContents() override;
  absl::Status Complete() override;
  absl::Status Name() override;

  Piece CopyPiece(const TensorSet::Tensor& source, std::size_t output, std::int64_t first,
                  std::int64_t count);
  Piece RowsPiece(const RewrittenTensor& tensor, std::size_t output, std::int64_t first,
                  std::int64_t count);
  absl::StatusOr<Rest> Make(const RewrittenTensor& tensor, std::size_t output, std::int64_t first,
                            std::int64_t count);
  absl::Status Write(std::size_t output, std::int64_t offset, std::span<const std::uint8_t> bytes);
  void Pass(const TensorSet::Tensor& source, std::span<const std::uint8_t> bytes);

  const RewriteContext& context_;
  const RewrittenFile& file_;
  std::unique_ptr<SafetensorsWriter> writer_;
  std::size_t tensor_ = 0;  // the next piece's
  std::size_t output_ = 0;  // the number of its first output in the file
  std::int64_t next_ = 0;   // its first row, or byte
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_REWRITE_REWRITE_PIECES_H_
