#ifndef LANEWISE_CHECKPOINT_PREPARED_WRITER_H_
#define LANEWISE_CHECKPOINT_PREPARED_WRITER_H_

// Writes a prepared file (prepared_metadata.h): a SafetensorsWriter that also describes each
// tensor, digests its bytes as they pass, and digests the header.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/prepared_metadata.h"
#include "checkpoint/safetensors/tensor_info.h"

namespace lanewise {

// One tensor to write.
struct PreparedTensorPlan {
  TensorSpec stored;    // its name, and dtype and shape in the file
  PreparedTensor what;  // all but xxh3, which the writer finds
  // Names of integer parameters whose value only the work itself tells (counts of what a layout
  // discards): SetParam gives it before Finish.
  std::vector<std::string> late;
  // A list of bytes whose length only they tell: `stored` and `what` have the most there may be,
  // and Append adds them (SafetensorsWriter::Growing).
  bool grows = false;
};

class PreparedWriter {
 public:
  struct About {
    std::string target;
    std::string recipe;
    // A source whose xxh3 is "" gets it by SetSourceDigest.
    std::vector<PreparedSource> sources;
    // Any further metadata, such as the source's own. Keys may not begin with "lanewise." except
    // "lanewise.x." for what a tool adds.
    std::map<std::string, std::string> more;
  };

  // Refuses what SafetensorsWriter::Create refuses, a layout tag that format 1 does not know, a
  // tensor that PreparedCheckpoint::Open would refuse, and text that is not UTF-8.
  static absl::StatusOr<PreparedWriter> Create(const std::string& path, const About& about,
                                               std::vector<PreparedTensorPlan> tensors);

  PreparedWriter(PreparedWriter&&) noexcept;
  PreparedWriter& operator=(PreparedWriter&&) noexcept;
  ~PreparedWriter();

  // As SafetensorsWriter::Write; `tensor` counts as in Create. A tensor that is written from its
  // beginning to its end in order is digested on the way; what comes out of order is read back for
  // it in Finish.
  absl::Status Write(size_t tensor, int64_t offset, std::span<const uint8_t> bytes);

  // The two halves of Write, for callers whose bytes come in order only later: from any thread, and
  // Digest after its bytes were written.
  absl::Status WriteUndigested(size_t tensor, int64_t offset, std::span<const uint8_t> bytes);
  void Digest(size_t tensor, int64_t offset, std::span<const uint8_t> bytes);

  // Adds to a tensor that grows. Such tensors get theirs in the order of Create, by one thread at a
  // time.
  absl::Status Append(size_t tensor, std::span<const uint8_t> bytes);

  // Gives a parameter declared as late its value. From any thread, once.
  absl::Status SetParam(size_t tensor, std::string_view name, int64_t value);

  // Gives source number `source` of About its digest.
  absl::Status SetSourceDigest(size_t source, std::string_view xxh3);

  // Refuses if a byte, a late parameter or a source's digest is missing; otherwise completes the
  // file as SafetensorsWriter::Finish.
  absl::Status Finish();

 private:
  struct State;
  explicit PreparedWriter(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARED_WRITER_H_
