#ifndef LANEWISE_CHECKPOINT_RESTORE_RESTORE_PART_H_
#define LANEWISE_CHECKPOINT_RESTORE_RESTORE_PART_H_

// A prepared tensor, and how it is taken back some leads at a time: which rows those are, and which
// runs of its source tensors they fill. What is filled is a buffer that goes to the file as it is,
// so nothing but such runs is ever in memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/files/digest.h"
#include "checkpoint/restore/restore_job.h"
#include "weights/tensor_plan.h"

namespace lanewise {

// Bytes [begin, end) of source number `source` of an output.
struct SourceRun {
  int source = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool wanted = true;  // false: it belongs to another file, and is only counted through

  std::int64_t size() const { return end - begin; }
};

// A stored tensor of one rank, as bytes of its mapped file.
struct StoredBytes {
  std::string name;
  const PreparedCheckpoint* prepared = nullptr;
  std::span<const std::uint8_t> bytes;
  std::span<const std::uint8_t> mapping;

  // No bytes where there is no such tensor.
  static StoredBytes Of(const RestoreRank& rank, const std::string& name);
};

// One of the tensors that a part takes back together. All but the last two members are set by the
// part and then only read; those are for whoever commits pieces in order.
struct PartMember {
  RankOutput of;
  TensorPlan plan;     // of what is stored: the prepared bytes, or with --lossless the originals
  StoredBytes stored;  // what the plan reads
  StoredBytes signs;   // of zeros, where they are kept
  Digest digest;
  std::int64_t zeros = 0;  // so far
};

class RestorePart {
 public:
  // The parts that give file number `file` what `outputs` hold of it: tensors of the same name, one
  // a rank. Each is a part by itself if its leads fill whole runs. Otherwise they are taken
  // together, lead by lead (each rank has some columns of the same rows), or, where rows are spread
  // over all leads or share places, whole.
  static absl::StatusOr<std::vector<std::unique_ptr<RestorePart>>> Of(
      const RestoreJob& job, std::size_t file, std::span<const RankOutput> outputs);

  // Where the part's bytes begin in the file.
  std::int64_t file_offset() const { return file_offset_; }
  std::vector<PartMember>& members() { return members_; }
  // The name of a source of its members.
  const std::string& source(int number) const { return sources_[number]; }

  // Nothing is taken back: another rank has the same bytes. Its digest is checked.
  bool checks_only() const { return checks_only_; }
  // The one source's bytes as they are stored.
  bool copies() const { return copies_; }
  // Whether the pieces pass over all stored bytes, so that they can be digested on the way.
  bool passes_all() const { return passes_all_; }

  // Leads, or bytes where copies() or checks_only().
  std::int64_t units() const { return units_; }
  // Whether signs of zeros were stored, which ApplySigns puts back.
  bool HasSigns() const;
  // Units of a piece that holds about `bytes`.
  std::int64_t Step(std::int64_t bytes) const;
  // What a piece holds in memory at most.
  std::int64_t PieceMemory(std::int64_t first, std::int64_t count) const;

  // The runs that units [first, first + count) fill, one a source.
  std::vector<SourceRun> Runs(std::int64_t first, std::int64_t count) const;

  // Fills `sinks`, one for each of `runs`, from those leads. From any thread.
  absl::Status Fill(std::int64_t first, std::int64_t count, std::span<const SourceRun> runs,
                    std::span<const std::span<std::uint8_t>> sinks);

  // Puts the signs of zeros back into filled runs; in order, by one thread at a time.
  absl::Status ApplySigns(std::int64_t first, std::int64_t count, std::span<const SourceRun> runs,
                          std::span<const std::span<std::uint8_t>> sinks);

 private:
  RestorePart() = default;
  static absl::StatusOr<std::unique_ptr<RestorePart>> Make(const RestoreJob& job, std::size_t file,
                                                           std::span<const RankOutput> outputs);
  bool PiecesFillRuns() const;
  void FindRows(std::int64_t first, std::int64_t count, std::int64_t* begin,
                std::int64_t* end) const;
  TensorPlan Moved(const PartMember& member, std::int64_t begin, std::int64_t end,
                   std::span<const SourceRun> runs) const;
  absl::Status CheckPlaces() const;
  absl::Status ReadCodes();

  const RestoreJob* job_ = nullptr;
  std::size_t file_ = 0;
  std::vector<PartMember> members_;
  std::vector<std::string> sources_;        // of every member
  std::vector<std::int64_t> source_bytes_;  // their sizes
  std::vector<bool> in_file_;               // which of them are in this file
  bool checks_only_ = false, copies_ = false, passes_all_ = true, whole_ = false;
  int copied_source_ = 0;
  std::int64_t units_ = 0;
  std::int64_t file_offset_ = 0;

  std::once_flag codes_once_;
  absl::Status codes_status_;
  int codes_source_ = -1;  // of weights that are converted with their codes
  std::vector<std::uint8_t> codes_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RESTORE_RESTORE_PART_H_
