#ifndef LANEWISE_CHECKPOINT_FILE_PIECES_H_
#define LANEWISE_CHECKPOINT_FILE_PIECES_H_

// One output file as pieces of work (ordered_work.h): some leads of a prepared tensor, some bytes
// of a copied one, some rows' signs of zeros, and at last the file's completion.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/buffer_pool.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/output_files.h"
#include "checkpoint/prepared_writer.h"
#include "checkpoint/run_files.h"
#include "checkpoint/source_digests.h"
#include "checkpoint/touched_bytes.h"

namespace lanewise {

// What the files of a job share while they are written.
struct PieceContext {
  const JobPlan* plan = nullptr;
  BufferPool* buffers = nullptr;
  std::int64_t piece_bytes = 0;  // of a piece, about: read or written, whichever is more
  int threads = 1;               // to count zeros with, before a file is begun
  SourceDigests* digests = nullptr;
  PassedPages* passed = nullptr;
  bool name_when_complete = true;  // else the caller calls Finish
  bool overwrite = false;          // whether something may be at the file's path
  std::function<void(std::int64_t bytes)> wrote;
};

// The memory that the smallest piece of an output may hold: one lead and the source behind it.
std::int64_t LeastMemory(const TensorSet& source, const OutputTensor& output);

class FilePieces : public PiecedFile {
 public:
  // `lane` is the file's number among those that are written, `digest` its source's among those
  // that are digested. Both references must outlive this and its pieces.
  FilePieces(const PieceContext& context, const OutputFile& file, std::size_t lane,
             std::size_t digest);
  ~FilePieces() override;

  // Counts zeros where --lossless, and makes the file, without its name.
  absl::Status Open() override;
  // The source's digester is told how far this has come.
  std::optional<Piece> Next() override;
  absl::Status Finish() override;
  bool named() const override { return named_; }

  // When the last piece is done.
  std::int64_t bytes() const { return bytes_; }
  std::int64_t negative_zeros() const;

 private:
  struct Feed;

  void AddFeed(std::size_t tensor, const OutputTensor& output, bool signs);
  absl::Status CountSigns(std::vector<PreparedTensorPlan>* tensors);
  absl::StatusOr<Rest> Pack(Feed* feed, std::int64_t first, std::int64_t count);
  absl::StatusOr<Rest> Copy(Feed* feed, std::int64_t first, std::int64_t count);
  absl::StatusOr<Rest> Signs(Feed* feed, std::int64_t first, std::int64_t count);
  void Pass(const Feed& feed, std::span<const TouchedBytes> touched);
  absl::Status Complete();
  Rest WriteThenDigest(const Feed& feed, std::int64_t offset, std::span<const std::uint8_t> bytes,
                       std::function<void()> after);
  void Digest(const Feed& feed, std::int64_t offset, std::span<const std::uint8_t> bytes);

  const PieceContext& context_;
  const OutputFile& file_;
  const std::size_t lane_;
  const std::size_t digest_;
  std::vector<std::unique_ptr<Feed>> feeds_;
  std::size_t at_ = 0;  // the feed that the next piece is of; one past the last for Complete
  std::unique_ptr<PreparedWriter> writer_;
  std::int64_t total_ = 0;
  std::int64_t dealt_ = 0;
  std::int64_t bytes_ = 0;
  bool named_ = false;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILE_PIECES_H_
