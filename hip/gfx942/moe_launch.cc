#include "hip/gfx942/moe_launch.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "third_party/hip_api.h"

namespace lanewise::hip::gfx942 {

absl::StatusOr<MoeKernels> MoeKernels::Load(std::span<const EmbeddedCodeObject> objects,
                                            const Device& device, std::string_view first,
                                            std::string_view second) {
  absl::StatusOr<Module> module = Module::Load(objects, device);
  if (!module.ok()) return module.status();
  absl::StatusOr<Kernel> first_kernel = module->Find(first);
  if (!first_kernel.ok()) return first_kernel.status();
  absl::StatusOr<Kernel> second_kernel = module->Find(second);
  if (!second_kernel.ok()) return second_kernel.status();
  return MoeKernels{*std::move(module), *std::move(first_kernel), *std::move(second_kernel)};
}

absl::Status CheckMoeCall(const MoeProblem& problem, std::span<const OperandPointer> pointers) {
  if (absl::Status status = CheckMoeProblem(problem); !status.ok()) return status;
  if (problem.tokens == 0) return absl::OkStatus();
  return CheckAligned(pointers);
}

absl::Status CheckExperts(const MoeProblem& problem, const void* experts, const Stream& stream) {
  if (absl::Status status = stream.Synchronize(); !status.ok()) return status;
  std::vector<int32_t> indices(static_cast<size_t>(problem.picks()));
  const hipError_t error = hipMemcpy(indices.data(), experts, indices.size() * sizeof(indices[0]),
                                     hipMemcpyDeviceToHost);
  if (error != hipSuccess) {
    return absl::InternalError(
        absl::StrCat("routed experts: reading the expert indices: ", hipGetErrorString(error)));
  }
  for (size_t pick = 0; pick < indices.size(); ++pick) {
    if (indices[pick] >= 0 && indices[pick] < problem.layer_experts()) continue;
    const auto at = static_cast<int64_t>(pick);
    return absl::InvalidArgumentError(
        absl::StrCat("routed experts: experts[", at / problem.top_k, ", ", at % problem.top_k,
                     "] is ", indices[pick], ", expected 0 to ", problem.layer_experts() - 1));
  }
  return absl::OkStatus();
}

}  // namespace lanewise::hip::gfx942
