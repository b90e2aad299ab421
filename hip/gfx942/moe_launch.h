#ifndef LANEWISE_HIP_GFX942_MOE_LAUNCH_H_
#define LANEWISE_HIP_GFX942_MOE_LAUNCH_H_

// What the launchers of both halves of the routed experts do alike.

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/common/alignment.h"
#include "hip/embedded_code_object.h"
#include "hip/gfx942/moe_problem.h"
#include "hip/runtime/device.h"
#include "hip/runtime/module.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip::gfx942 {

// A half's two kernels, in the order of their launches.
struct MoeKernels {
  Module module;
  Kernel first;
  Kernel second;

  static absl::StatusOr<MoeKernels> Load(std::span<const EmbeddedCodeObject> objects,
                                         const Device& device, std::string_view first,
                                         std::string_view second);
};

// OK, or InvalidArgument for a problem that is none, or, where there is work, for the first pointer
// that is null or not aligned, naming it.
absl::Status CheckMoeCall(const MoeProblem& problem, std::span<const OperandPointer> pointers);

// What MoeProblem::check_experts asks for, before a launch: waits for the stream and reads the
// indices back. InvalidArgument names the token and slot of the first that the layer does not have.
absl::Status CheckExperts(const MoeProblem& problem, const void* experts, const Stream& stream);

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_MOE_LAUNCH_H_
