#include "hip/common/drop_negative_zero.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hip/common/alignment.h"
#include "hip/common/negative_zero.h"

namespace lanewise::hip {
namespace {

constexpr int64_t kItemBytes = 16;
constexpr int64_t kGroupBytes = 256 * kItemBytes;
// A grid has fewer than 2^32 work-items.
constexpr int64_t kLaunchBytes = (int64_t{1} << 31) * kItemBytes;

absl::Status CheckProblem(const DropNegativeZero::Problem& problem) {
  if (problem.bytes < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("drop negative zero: ", problem.bytes, " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DropNegativeZero> DropNegativeZero::Load(const Device& device) {
  absl::StatusOr<Module> module = Module::Load(NegativeZeroCodeObjects(), device);
  if (!module.ok()) return module.status();
  absl::StatusOr<Kernel> e4m3 = module->Find("DropNegativeZeroE4m3");
  if (!e4m3.ok()) return e4m3.status();
  absl::StatusOr<Kernel> e2m1 = module->Find("DropNegativeZeroE2m1");
  if (!e2m1.ok()) return e2m1.status();
  return DropNegativeZero(*std::move(module), *std::move(e4m3), *std::move(e2m1));
}

absl::StatusOr<LaunchCost> DropNegativeZero::Cost(const Problem& problem) {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  LaunchCost cost;
  cost.weight_bytes = problem.bytes;
  cost.output_bytes = problem.bytes;
  cost.launches = problem.bytes / kLaunchBytes + (problem.bytes % kLaunchBytes != 0 ? 1 : 0);
  return cost;
}

absl::Status DropNegativeZero::Launch(const Problem& problem, const Operands& operands,
                                      const Stream& stream) const {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  if (problem.bytes == 0) return absl::OkStatus();
  absl::Status status = CheckAligned("drop negative zero: data", operands.data, kItemBytes);
  if (!status.ok()) return status;
  if (operands.changed != nullptr) {
    status = CheckAligned("drop negative zero: changed", operands.changed, 8);
    if (!status.ok()) return status;
  }
  const Kernel& kernel = problem.elements == Elements::kE2m1 ? e2m1_ : e4m3_;
  for (int64_t first = 0; first < problem.bytes; first += kLaunchBytes) {
    const int64_t bytes = std::min(kLaunchBytes, problem.bytes - first);
    const auto groups = static_cast<uint32_t>((bytes + kGroupBytes - 1) / kGroupBytes);
    status = kernel.Launch({.grid = {groups}, .block = {256}}, stream,
                           static_cast<uint8_t*>(operands.data) + first,
                           static_cast<uint64_t>(bytes), operands.changed);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lanewise::hip
