#ifndef LANEWISE_CHECKPOINT_SAFETENSORS_WRITTEN_DIGEST_H_
#define LANEWISE_CHECKPOINT_SAFETENSORS_WRITTEN_DIGEST_H_

// The digest of a whole file while it is written: what comes in the file's order is digested while
// it is in the caches, and what comes earlier is read back when its turn has come.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/files/digest.h"
#include "checkpoint/safetensors/safetensors_writer.h"

namespace lanewise {

// By one thread at a time.
class WrittenDigest {
 public:
  // Of a file with that header text (SafetensorsWriter::CreateWithHeader), which outlives this.
  WrittenDigest(const SafetensorsWriter& writer, const std::string& header_text);

  // These bytes of tensor number `tensor` were written, the first at its byte `offset`.
  void Wrote(std::size_t tensor, std::int64_t offset, std::span<const std::uint8_t> bytes);

  // Reads back what was written and not digested, as far as nothing before it is missing.
  absl::Status CatchUp();

  // Of everything, after the last CatchUp.
  std::string Hex() const { return digest_.Hex(); }

 private:
  const SafetensorsWriter& writer_;
  Digest digest_;
  std::vector<std::size_t> in_order_;           // the tensors in the order of their bytes
  std::int64_t digested_ = 0;                   // bytes of the data
  std::map<std::int64_t, std::int64_t> ahead_;  // written beyond: begin -> end
  std::vector<std::uint8_t> buffer_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SAFETENSORS_WRITTEN_DIGEST_H_
