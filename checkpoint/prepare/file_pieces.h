#ifndef LANEWISE_CHECKPOINT_PREPARE_FILE_PIECES_H_
#define LANEWISE_CHECKPOINT_PREPARE_FILE_PIECES_H_

// One output file as pieces of work (ordered_work.h): some leads of a prepared tensor and the signs
// of their zeros, some bytes of a copied one, and at last the file's completion.

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
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/prepare/output_files.h"
#include "checkpoint/prepare/touched_bytes.h"
#include "checkpoint/prepared_writer.h"
#include "checkpoint/stream/buffer_pool.h"
#include "checkpoint/stream/output_fates.h"
#include "checkpoint/stream/run_files.h"
#include "checkpoint/stream/source_digests.h"
#include "weights/zero_signs.h"

namespace lanewise {

// What the files of a job share while they are written.
struct PieceContext {
  const JobPlan* plan = nullptr;
  BufferPool* buffers = nullptr;
  std::int64_t piece_bytes = 0;  // of a piece, about: read or written, whichever is more
  SourceDigests* digests = nullptr;
  PassedPages* passed = nullptr;
  OutputRules rules;  // whether something may be at a file's path, and when it gets its name
  std::function<void(std::int64_t bytes)> wrote;
};

// The memory that the smallest piece of an output may hold: one lead and the source behind it.
std::int64_t LeastMemory(const TensorSet& source, const OutputTensor& output, bool lossless);

class FilePieces : public PiecedFile {
 public:
  // `lane` is the file's number among those that are written, `digest` its source's among those
  // that are digested. Both references must outlive this and its pieces.
  FilePieces(const PieceContext& context, const OutputFile& file, std::size_t lane,
             std::size_t digest);
  ~FilePieces() override;

  // When the last piece is done.
  std::int64_t bytes() const { return bytes_; }
  std::int64_t negative_zeros() const;

 private:
  struct Feed;

  absl::Status Begin() override;
  // The source's digester is told how far this has come.
  std::optional<Piece> NextOfContents() override;
  absl::Status Complete() override;
  absl::Status Name() override;

  void AddFeed(std::size_t tensor, const OutputTensor& output, bool signs);
  void AddSigns(std::size_t tensor, const OutputTensor& of);
  absl::StatusOr<Rest> Pack(Feed* feed, std::int64_t first, std::int64_t count);
  absl::StatusOr<Rest> Copy(Feed* feed, std::int64_t first, std::int64_t count);
  absl::StatusOr<Rest> Signs(Feed* feed, std::int64_t first, std::int64_t count);
  absl::Status AppendSigns(Feed* feed, const ZeroSignBits& bits, bool last);
  void Pass(const Feed& feed, std::span<const TouchedBytes> touched);
  Rest WriteThenDigest(const Feed& feed, std::int64_t offset, std::span<const std::uint8_t> bytes,
                       std::function<absl::Status()> after);
  void Digest(const Feed& feed, std::int64_t offset, std::span<const std::uint8_t> bytes);

  const PieceContext& context_;
  const OutputFile& file_;
  const std::size_t digest_;
  std::vector<std::unique_ptr<Feed>> feeds_;
  std::size_t at_ = 0;  // the feed that the next piece is of
  std::unique_ptr<PreparedWriter> writer_;
  std::int64_t total_ = 0;
  std::int64_t dealt_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_FILE_PIECES_H_
