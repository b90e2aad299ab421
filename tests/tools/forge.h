#ifndef LANEWISE_TESTS_TOOLS_FORGE_H_
#define LANEWISE_TESTS_TOOLS_FORGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/prepared_writer.h"

namespace lanewise {

// One tensor of a prepared file, to be changed; `drop` leaves it out.
struct ForgedTensor {
  PreparedTensorPlan plan;
  std::vector<std::uint8_t> bytes;
  bool drop = false;
};

// Writes a prepared file again after `change` had every tensor in hand, with digests that are
// right for what it then holds: a preparation that went wrong, and not a file that was damaged.
absl::Status Forge(const std::string& prepared, const std::string& out,
                   const std::function<void(ForgedTensor&)>& change);

}  // namespace lanewise

#endif  // LANEWISE_TESTS_TOOLS_FORGE_H_
