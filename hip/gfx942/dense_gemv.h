#ifndef LANEWISE_HIP_GFX942_DENSE_GEMV_H_
#define LANEWISE_HIP_GFX942_DENSE_GEMV_H_

// The dense FP8 GEMV of gfx942: attention projections, shared experts, dense layers.
//
//   out[m][n] = sum over k of x[m][k] * w[n][k]
//
// x is bf16 [M, K], w [N, K] as `lanewise prepare` writes it for gfx942, out bf16 or float32 [M,
// N].
//
// Its arithmetic is reference::gfx942::DenseGemv, bit for bit (NaN payloads aside):
//  1. A first kernel quantizes x to FNUZ e4m3 with a code for 32 of K (maximum 224, zero blocks
//     have code 1, a block with Inf or NaN is NaN), into the workspace, in the order of the matrix
//     core's operand.
//  2. A wave takes a tile of 16 rows and 16 tokens through its steps of 128 K, ascending. Each block
//     of 32 is one v_mfma_f32_16x16x32_fp8_fp8 from zero, and joins the wave's sum as
//     RNE32(sum + d * 2^(cw + cx - 254)), exactly scaled for every pair of codes (scale_add.h).
//  3. The waves' sums are added in order in float32, the splits' likewise by a last kernel; then
//     the result is rounded to bf16, nearest-even, where that is wanted.
// Plan says which steps a wave has. Deterministic; a token's result does not depend on the others.
// `gated` puts the activation of a gated layer in front: x is then [M, 2 K], K gates and K ups, and
// what is quantized and multiplied is reference::ActivateSharedExpert of each two, bit for bit.
// With gfx942/dense_chunk_q both operands have the even K of 8 before the odd ones, and the matrix
// core, which adds even and odd positions apart, sees that order: the reference then is DenseGemv
// of x quantized and w, both with their columns permuted so.
//
// All of M go through one launch; past 16 tokens a workgroup goes over its weights again for every
// 16 more. Weights are read in wave loads of 1 KiB without a gap, several in flight.
//
//   absl::StatusOr<DenseGemv> gemv = DenseGemv::Load(device);
//   const DenseGemv::Problem problem = {.m = 1, .n = 8192, .k = 1280};
//   absl::StatusOr<LaunchCost> cost = DenseGemv::Cost(problem);     // workspace_bytes to allocate
//   absl::Status status = gemv->Launch(problem, {x, w, w_codes, out, workspace}, stream);
//
// Source: seed 000 (the weight's copy), vLLM's DeepSeek V4.1 mono decode for gfx942.

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"
#include "hip/runtime/module.h"
#include "hip/runtime/stream.h"
#include "semantics/float_type.h"
#include "semantics/swiglu.h"

namespace lanewise::hip::gfx942 {

class DenseGemv {
 public:
  // How K is dealt out; the reference's plans.
  enum class Plan {
    kDense,    // kDensePlan: 8 waves, wave i takes steps i, i + 8, ...
    kGrouped,  // kGroupedPlan: 4 waves, each a run of steps; two tiles a workgroup
    kSplit,  // kDensePlan with `splits` workgroups a tile, each a run of steps, and one launch more
  };

  struct Problem {
    int64_t m = 0;       // tokens, up to 65535
    int64_t n = 0;       // weight rows, of all groups: a multiple of 16 times groups, up to 2^26
    int64_t k = 0;       // of a group: a multiple of 32, up to 2^26
    int64_t groups = 1;  // group g has rows g N / G .. of w and columns g K .. of x (wo_a), up to
                         // 65535
    Plan plan = Plan::kDense;
    int64_t splits = 2;  // of kSplit, 1 to 1024
    // The down projection of a gated layer, such as the shared expert's. groups is 1.
    std::optional<Swiglu> gated = {};
    FloatType out = FloatType::kBf16;
    int64_t x_stride = 0;    // elements from token to token, a multiple of 8 up to 2^40; 0: columns
    int64_t out_stride = 0;  // likewise of out, any; 0: n
    // The layout tags of the prepared tensors. gfx942/dense_chunk_q is the other one there is for
    // w.
    std::string_view w_layout = "gfx942/dense";
    std::string_view codes_layout = "gfx942/dense_codes";
  };

  struct Operands {
    const void* x;        // bf16 [M, groups * K], gated [M, 2 K], 16-byte aligned
    const void* w;        // [N, Kp] bytes, Kp = K rounded up to 128; 128-byte aligned
    const void* w_codes;  // [N / 32 rounded up, Kp / 32] bytes, 4-byte aligned
    void* out;            // [M, N], aligned to its elements; may be x
    void* workspace;      // 128-byte aligned; overlaps nothing else
  };

  // NotFound for another chip than gfx942. Makes the device current, as it has to be for Launch. The
  // object has to outlive what it queued, and graphs that were captured.
  static absl::StatusOr<DenseGemv> Load(const Device& device);

  // Weights with their codes, activations and outputs once each: beside them the quantized
  // activations go to the workspace and come back for every tile of 16 rows, (33 / 32) Kp bytes a
  // token, which the caches serve. Launches: 2, of kSplit 3 (the partial sums, 4 * splits * M * N
  // bytes, are written and read once). InvalidArgument as Launch.
  static absl::StatusOr<LaunchCost> Cost(const Problem& problem);

  // Cost's workspace_bytes.
  static absl::StatusOr<int64_t> WorkspaceBytes(const Problem& problem);

  // OK, or InvalidArgument naming what does not fit; Launch asks it too.
  static absl::Status Check(const Problem& problem, const Operands& operands);

  // Queues the kernels; asynchronous, allocates nothing on the device, can be captured. The
  // workspace is in use until they are done. InvalidArgument for a shape, layout or alignment that
  // does not fit, naming it; nothing is launched then. No tokens or no rows are no work; K = 0
  // gives zeros.
  absl::Status Launch(const Problem& problem, const Operands& operands, const Stream& stream) const;

 private:
  DenseGemv(Module module, Kernel quantize, Kernel quantize_gated, Kernel gemv8, Kernel gemv4,
            Kernel combine)
      : module_(std::move(module)),
        quantize_(std::move(quantize)),
        quantize_gated_(std::move(quantize_gated)),
        gemv8_(std::move(gemv8)),
        gemv4_(std::move(gemv4)),
        combine_(std::move(combine)) {}

  Module module_;
  Kernel quantize_;
  Kernel quantize_gated_;
  Kernel gemv8_;
  Kernel gemv4_;
  Kernel combine_;
};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_DENSE_GEMV_H_
