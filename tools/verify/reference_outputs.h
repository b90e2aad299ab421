#ifndef LANEWISE_TOOLS_VERIFY_REFERENCE_OUTPUTS_H_
#define LANEWISE_TOOLS_VERIFY_REFERENCE_OUTPUTS_H_

// What a prepared file has to hold of a weight, computed by reference/ alone: neither weights/ nor
// layouts/ has a part in it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/prepare/preparation.h"
#include "checkpoint/recipes/recipe_match.h"
#include "checkpoint/safetensors/tensor_set.h"

namespace lanewise::tools {

// Some of an output, from its first byte on: the next bytes of everything.
struct ReferenceOutput {
  std::string name;
  std::string_view layout;
  DType dtype = DType::kU8;         // as stored
  std::vector<std::int64_t> shape;  // as stored; of these bytes, so that first dimensions add up
  std::vector<std::uint8_t> bytes;
  std::int64_t negative_zeros = 0;  // -0 that became +0, in these bytes

  // What --lossless stores beside it: the signs of zeros, one bit for each zero-valued element in
  // the order of the logical rows (of gate and up: interleaved), where the layout discards them;
  // the e4m3 bytes, where they were dequantized.
  std::optional<std::vector<std::uint8_t>> zero_signs;
  std::optional<std::vector<std::uint8_t>> original;
};

// Takes the next outputs of a weight.
using TakeOutputs = std::function<void(std::vector<ReferenceOutput>)>;

// The weight and its codes for the target and the rank of `options`, in this order: expert by
// expert, and of linears about `slice_bytes` of the weight at a time where the layout's rows follow
// each other in memory. Refuses what the reference refuses, with every check on.
absl::Status ReferenceOutputs(const MatchedWeight& weight, const TensorSet& set,
                              const PreparationOptions& options, std::int64_t slice_bytes,
                              const TakeOutputs& take);

// The memory that this may hold, pages of the source included.
std::int64_t ReferenceMemory(const MatchedWeight& weight, const TensorSet& set,
                             const PreparationOptions& options, std::int64_t slice_bytes);

// Whether the target takes the tensors of the weight as they are, unsliced.
bool IsCopiedFor(const MatchedWeight& weight, const PreparationOptions& options);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_REFERENCE_OUTPUTS_H_
