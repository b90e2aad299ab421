#ifndef LANEWISE_HIP_ENGINE_GFX942_MOE_WEIGHTS_H_
#define LANEWISE_HIP_ENGINE_GFX942_MOE_WEIGHTS_H_

// The experts of a MoE layer from a prepared file to the device.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "checkpoint/prepared.h"
#include "hip/gfx942/moe_problem.h"
#include "hip/gfx942/shared_expert.h"
#include "hip/runtime/buffer.h"
#include "semantics/swiglu.h"

namespace lanewise::hip::gfx942 {

// The routed experts' tensors in a prepared file, by name.
struct MoeTensorNames {
  std::string w13, w13_codes, w2, w2_codes;
  // bf16 [experts, 2 inter], gate and up in turn, and [experts, hidden]; "" where there is none.
  std::string w13_bias = {}, w2_bias = {};
};

// `prefix`.w13.weight, .w13.scale, .w2.weight, .w2.scale: DeepSeek's, say of
// "layers.3.ffn.experts".
MoeTensorNames ExpertNames(std::string_view prefix);

// Those, and the biases `prefix`.gate_up_proj_bias and .down_proj_bias: gpt-oss's, say of
// "model.layers.3.mlp.experts".
MoeTensorNames GptOssExpertNames(std::string_view prefix);

// A layer's routed experts in device memory.
class MoeWeights {
 public:
  // Copies to the current device. NotFound for a missing tensor; FailedPrecondition for one in
  // another layout than the kernels read, naming it and both; InvalidArgument where the shapes or
  // padded sizes do not belong together, or a bias is not bf16. (Prepared for several ranks, biases
  // are in each file whole: leave them out of `names`, and see MoeProblem's strides.)
  static absl::StatusOr<MoeWeights> Upload(const PreparedCheckpoint& file,
                                           const MoeTensorNames& names);

  // Of these experts as the whole layer: where others hold some, set first_expert and all_experts.
  MoeProblem Problem(int64_t tokens, int64_t top_k, const Swiglu& swiglu) const;
  MoeWeightPointers pointers() const {
    return {w13_.data(),
            w13_codes_.data(),
            w2_.data(),
            w2_codes_.data(),
            w13_bias_.has_value() ? w13_bias_->data() : nullptr,
            w2_bias_.has_value() ? w2_bias_->data() : nullptr};
  }
  int64_t experts() const { return experts_; }
  int64_t hidden() const { return hidden_; }
  int64_t inter() const { return inter_; }

 private:
  MoeWeights(int64_t experts, int64_t hidden, int64_t inter, Buffer w13, Buffer w13_codes,
             Buffer w2, Buffer w2_codes, std::optional<Buffer> w13_bias,
             std::optional<Buffer> w2_bias)
      : experts_(experts),
        hidden_(hidden),
        inter_(inter),
        w13_(std::move(w13)),
        w13_codes_(std::move(w13_codes)),
        w2_(std::move(w2)),
        w2_codes_(std::move(w2_codes)),
        w13_bias_(std::move(w13_bias)),
        w2_bias_(std::move(w2_bias)) {}

  int64_t experts_, hidden_, inter_;
  Buffer w13_, w13_codes_, w2_, w2_codes_;
  std::optional<Buffer> w13_bias_, w2_bias_;
};

// The shared expert's tensors in a prepared file, by name.
struct SharedTensorNames {
  std::string gate, gate_codes, up, up_codes, down, down_codes;
};

// `prefix`.w1.weight, .w1.scale, .w3.weight and so on: DeepSeek's, say of
// "layers.3.ffn.shared_experts".
SharedTensorNames SharedExpertNames(std::string_view prefix);

// A layer's shared expert in device memory, gate and up as one matrix.
class SharedWeights {
 public:
  // As MoeWeights::Upload.
  static absl::StatusOr<SharedWeights> Upload(const PreparedCheckpoint& file,
                                              const SharedTensorNames& names);

  SharedExpert::Problem Problem(int64_t tokens, const Swiglu& swiglu) const;
  SharedExpert::Weights pointers() const {
    return {gate_up_.data(), gate_up_codes_.data(), down_.data(), down_codes_.data()};
  }
  int64_t hidden() const { return hidden_; }
  int64_t inter() const { return inter_; }

 private:
  SharedWeights(int64_t hidden, int64_t inter, Buffer gate_up, Buffer gate_up_codes, Buffer down,
                Buffer down_codes)
      : hidden_(hidden),
        inter_(inter),
        gate_up_(std::move(gate_up)),
        gate_up_codes_(std::move(gate_up_codes)),
        down_(std::move(down)),
        down_codes_(std::move(down_codes)) {}

  int64_t hidden_, inter_;
  Buffer gate_up_, gate_up_codes_, down_, down_codes_;
};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_ENGINE_GFX942_MOE_WEIGHTS_H_
