#ifndef LANEWISE_TOOLS_VERIFY_VERIFY_H_
#define LANEWISE_TOOLS_VERIFY_VERIFY_H_

// Checks prepared checkpoints: alone, or against the checkpoint they were made from.

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/prepare/prepare.h"

namespace lanewise::tools {

struct VerifyLimits {
  int threads = 0;                            // 0: all of the machine's
  std::int64_t memory = kDefaultMemory;       // that the process may hold, all in all
  const std::atomic<bool>* cancel = nullptr;  // becomes true when the work is to end
  std::int64_t left_over = 0;  // of the memory, what this work may leave behind for the next
};

struct VerifyRequest {
  std::string prepared;  // a file, an index, a directory, or a directory of rank-0, rank-1, ...
  std::optional<std::string> against;  // the source
  VerifyLimits limits;
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

// Alone: the headers' digests, every tensor's digest, that its bytes can be what its description
// says (stored_form.h), that no file and no index is missing or too many, and what the index says.
//
// With `against`: what prepare would make of the source, by the recipe and the options that the
// prepared file keeps, is computed again by reference/ and compared byte for byte; copied tensors
// are compared as they are; every tensor of the source has to be accounted for, every tensor of the
// prepared checkpoint explained, and the source has to be the very file that was prepared.
//
// An error only where nothing can be checked: no prepared checkpoint, no readable source, a
// `memory` that is too little (for the pieces that are digested, or for one expert or some rows of
// a linear several times over; for the whole of a weight whose layout spreads its rows over
// all of it).
absl::StatusOr<VerifyReport> VerifyPrepared(const VerifyRequest& request, const Progress& progress);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_VERIFY_H_
