#ifndef LANEWISE_TOOLS_VERIFY_VERIFY_H_
#define LANEWISE_TOOLS_VERIFY_VERIFY_H_

// Checks prepared checkpoints: alone, or against the checkpoint they were made from.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/prepare.h"

namespace lanewise::tools {

struct VerifyRequest {
  std::string prepared;  // a file, an index, a directory, or a directory of rank-0, rank-1, ...
  std::optional<std::string> against;  // the source
  int threads = 0;                     // 0: all of the machine's
};

struct VerifyReport {
  struct Row {
    std::int64_t tensors = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::string, Row> by_layout;  // what was found right
  int ranks = 0;                         // directories looked at
  std::int64_t source_tensors = 0;       // with `against`: all of them accounted for
  // What is wrong, one sentence each, with the name of the tensor. Empty: nothing is.
  std::vector<std::string> problems;
};

// Alone: the headers' digests, every tensor's digest, and that its bytes can be what its
// description says (stored_form.h).
//
// With `against`: what prepare would make of the source, by the recipe and the options that the
// prepared file keeps, is computed again by reference/ and compared byte for byte; copied tensors
// are compared as they are; every tensor of the source has to be accounted for, every tensor of the
// prepared checkpoint explained, and the source has to be the very file that was prepared.
//
// An error only where nothing can be checked: no prepared checkpoint, no readable source.
absl::StatusOr<VerifyReport> VerifyPrepared(const VerifyRequest& request, const Progress& progress);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_VERIFY_H_
