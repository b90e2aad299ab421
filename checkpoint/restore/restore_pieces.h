#ifndef LANEWISE_CHECKPOINT_RESTORE_RESTORE_PIECES_H_
#define LANEWISE_CHECKPOINT_RESTORE_RESTORE_PIECES_H_

// One restored file as pieces of work (ordered_work.h): leads of prepared tensors taken back to
// buffers and written, digests of everything that is read, and at last the file's completion.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/restore/restore_job.h"
#include "checkpoint/restore/restore_part.h"
#include "checkpoint/safetensors/written_digest.h"
#include "checkpoint/stream/buffer_pool.h"
#include "checkpoint/stream/output_fates.h"
#include "checkpoint/stream/run_files.h"

namespace lanewise {

// What the files of a job share while they are written.
struct RestoreContext {
  const RestoreJob* job = nullptr;
  BufferPool* buffers = nullptr;
  std::int64_t piece_bytes = 0;
  PassedPages* passed = nullptr;
  OutputRules rules;  // whether something may be at a file's path, and when it gets its name
  std::function<void(std::int64_t bytes)> wrote;
  // Tensors of which a piece digests all bytes already, because several files hold parts of them.
  std::set<std::pair<const PreparedCheckpoint*, std::string>> digested;
};

// What a file lacks of its source, because preparing discarded it.
struct RestoreLosses {
  std::int64_t zero_signs = 0;
  bool dequantized = false;  // some weight was, and its original is not stored

  bool any() const { return zero_signs > 0 || dequantized; }
};
RestoreLosses LossesOf(const RankOutput& output);

// The memory that the smallest piece of a file may hold, and the tensor that needs it.
struct RestoreNeed {
  std::int64_t bytes = 0;
  std::string tensor;
};
absl::StatusOr<RestoreNeed> LeastMemory(const RestoreJob& job, std::size_t file);

class RestorePieces : public PiecedFile {
 public:
  // Number `file` of the job's files, number `lane` of those that are written. `context` must
  // outlive this.
  RestorePieces(RestoreContext* context, std::size_t file, std::size_t lane);
  ~RestorePieces() override;

  // When the last piece is done: whether the file equals its source.
  bool exact() const { return exact_; }

 private:
  struct Filled;

  absl::Status Begin() override;
  std::optional<Piece> NextOfContents() override;
  absl::Status Complete() override;
  absl::Status Name() override;

  Piece RowsPiece(RestorePart* part, std::int64_t first, std::int64_t count);
  Piece CheckPiece(RestorePart* part, std::int64_t first, std::int64_t count);
  Piece ScanPiece(const StoredBytes& stored);
  absl::StatusOr<Rest> Fill(RestorePart* part, std::int64_t first, std::int64_t count,
                            std::vector<SourceRun> runs);
  absl::StatusOr<Rest> Copy(RestorePart* part, std::int64_t first, std::int64_t count);
  absl::Status Write(const RestorePart& part, const Filled& filled);
  void DigestFilled(const RestorePart& part, const Filled& filled);
  absl::Status DigestStored(RestorePart* part, std::int64_t first, std::int64_t count);

  const RestoredFile& file() const { return context_.job->files()[file_]; }

  RestoreContext& context_;
  const std::size_t file_;
  std::vector<std::unique_ptr<RestorePart>> parts_;
  std::vector<StoredBytes> scans_;  // digested by pieces of their own
  std::size_t part_ = 0, scan_ = 0;
  std::int64_t next_ = 0;  // unit of the part
  RestoreLosses losses_;
  std::unique_ptr<SafetensorsWriter> writer_;
  std::unique_ptr<WrittenDigest> digest_;
  bool exact_ = false;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RESTORE_RESTORE_PIECES_H_
