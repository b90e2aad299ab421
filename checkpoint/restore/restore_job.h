#ifndef LANEWISE_CHECKPOINT_RESTORE_RESTORE_JOB_H_
#define LANEWISE_CHECKPOINT_RESTORE_RESTORE_JOB_H_

// What restoring consists of: the source files, and for each the prepared tensors that hold parts
// of it. Everything here follows from the headers of the prepared files, so it is the same for
// every process that shares the work.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/prepare/preparation.h"
#include "checkpoint/prepared.h"

namespace lanewise {

// One rank of a prepared checkpoint, and the preparation that made it, planned again.
struct RestoreRank {
  std::unique_ptr<PreparedCheckpoint> prepared;
  Preparation preparation;
};

// A prepared tensor of one rank.
struct RankOutput {
  const RestoreRank* rank = nullptr;
  const OutputTensor* output = nullptr;

  const std::string& name() const { return output->tensor.stored.name; }
};

// The numbers of the sources, ascending, of which an output holds bytes. Others it was only made with,
// such as the codes of a weight that was converted with them.
std::vector<std::size_t> HeldSources(const OutputTensor& output);

// A file to write.
struct RestoredFile {
  std::string name;    // of the source file
  std::string path;    // where it goes
  std::string digest;  // of the source file
  std::string header_text;
  std::vector<TensorInfo> tensors;  // in the order of their bytes
  std::int64_t bytes = 0;           // of the tensors
  // What holds parts of it, rank by rank in the order of the preparation.
  std::vector<RankOutput> outputs;
};

class RestoreJob {
 public:
  // Where a source tensor lies.
  struct Place {
    std::size_t file = 0;
    std::size_t tensor = 0;  // in the order of the file
    std::int64_t bytes = 0;
  };

  // Opens the prepared checkpoint at `in` (a file, index, directory, or directory of rank-0,
  // rank-1, ...), whose source goes to `out`. Refuses what is not prepared, files or ranks that are
  // missing or do not belong together, and tensors that this version would prepare otherwise.
  static absl::StatusOr<RestoreJob> Plan(const std::string& in, const std::string& out);

  const std::vector<std::unique_ptr<RestoreRank>>& ranks() const { return ranks_; }
  const std::vector<RestoredFile>& files() const { return files_; }
  const Place& PlaceOf(std::string_view source) const { return places_.find(source)->second; }
  std::int64_t total_bytes() const;

  // The index of the source, written anew: its path, "" where there is none, and its text.
  std::string IndexPath() const;
  absl::StatusOr<std::string> IndexText() const;

 private:
  RestoreJob() = default;
  absl::Status OpenRanks();
  absl::Status ReadHeaders();
  absl::Status ReadSources();
  absl::Status PlanAgain();
  absl::Status PlanRank(const Recipe& recipe, std::size_t r);
  void AddOutputs();

  std::string in_, out_;
  bool in_ranks_ = false;  // whether `in_` holds rank-0, rank-1, ...
  std::vector<std::unique_ptr<RestoreRank>> ranks_;
  std::vector<RestoredFile> files_;
  std::vector<TensorSpec> specs_;
  std::map<std::string, Place, std::less<>> places_;
};

// The value that prepare leaves under `key` in a prepared file.
absl::StatusOr<std::string> KeptMetadata(const TensorSet::Shard& shard, std::string_view key);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RESTORE_RESTORE_JOB_H_
