#include "hip/gfx942/moe_problem.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "hip/common/check_swiglu.h"
#include "hip/gfx942/moe_arguments.h"

namespace lanewise::hip::gfx942 {
namespace {

constexpr int64_t kMostTokens = 65535;   // the grid's y
constexpr int64_t kMostExperts = 65535;  // likewise
constexpr int64_t kMostTopK = 16;
// So that two tiles' bytes are counted in 31 bits, and those of all quantized tokens with their
// codes.
constexpr int64_t kMostSize = int64_t{1} << 24;
constexpr int64_t kMostActivationBytes = int64_t{1} << 30;

absl::Status Refuse(std::string_view what, int64_t found, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("routed experts: ", AbslView(what), " is ", found,
                                                 ", expected ", AbslView(expected)));
}

absl::Status CheckLayout(std::string_view tensor, std::string_view found,
                         std::string_view expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("routed experts: ", AbslView(tensor),
                                                 " is in layout \"", AbslView(found),
                                                 "\", expected ", AbslView(expected)));
}

}  // namespace

absl::Status CheckMoeProblem(const MoeProblem& p) {
  absl::Status status = CheckLayout("w13", p.w13_layout, "gfx942/fp4_tile_major");
  status.Update(CheckLayout("w13_codes", p.w13_codes_layout, "gfx942/codes_tile_rounds"));
  status.Update(CheckLayout("w2", p.w2_layout, "gfx942/fp4_tile_major"));
  status.Update(CheckLayout("w2_codes", p.w2_codes_layout, "gfx942/row_codes"));
  if (!status.ok()) return status;
  if (p.tokens < 0 || p.tokens > kMostTokens) return Refuse("tokens", p.tokens, "0 to 65535");
  if (p.top_k < 1 || p.top_k > kMostTopK) return Refuse("top_k", p.top_k, "1 to 16");
  if (p.experts < 1 || p.experts > kMostExperts) return Refuse("experts", p.experts, "1 to 65535");
  if (p.all_experts != 0 && (p.all_experts < p.experts || p.all_experts > kMostSize)) {
    return Refuse("all_experts", p.all_experts,
                  absl::StrCat("0, or from the ", p.experts, " that are held to 2^24"));
  }
  if (p.first_expert < 0 || p.first_expert > p.layer_experts() - p.experts) {
    return Refuse("first_expert", p.first_expert,
                  absl::StrCat("0 to ", p.layer_experts() - p.experts));
  }
  if (p.hidden < 32 || p.hidden > kMostSize || p.hidden % 32 != 0) {
    return Refuse("hidden", p.hidden, "a multiple of 32 from 32 to 2^24");
  }
  if (p.inter < 32 || p.inter > kMostSize || p.inter % 32 != 0) {
    return Refuse("inter", p.inter, "a multiple of 32 from 32 to 2^24");
  }
  if (p.tokens * p.padded_hidden() > kMostActivationBytes) {
    return Refuse("tokens times padded hidden", p.tokens * p.padded_hidden(), "up to 2^30");
  }
  if (p.w13_bias_stride != 0 && (p.w13_bias_stride < 2 * p.inter || p.w13_bias_stride % 2 != 0)) {
    return Refuse("w13_bias_stride", p.w13_bias_stride,
                  absl::StrCat("an even number of at least ", 2 * p.inter, ", or 0"));
  }
  if (p.w2_bias_stride != 0 && (p.w2_bias_stride < p.hidden || p.w2_bias_stride % 4 != 0)) {
    return Refuse("w2_bias_stride", p.w2_bias_stride,
                  absl::StrCat("a multiple of 4 of at least ", p.hidden, ", or 0"));
  }
  return CheckSwiglu("routed experts: swiglu", p.swiglu);
}

int64_t MostGroups(const MoeProblem& problem) { return std::min(problem.picks(), problem.experts); }

MoeBetween BytesBetween(const MoeProblem& problem) {
  const int64_t steps = (problem.padded_inter() + 127) / 128;
  MoeBetween bytes;
  bytes.grouping = kGroupingHeaderBytes +
                   MostGroups(problem) * static_cast<int64_t>(sizeof(PickGroup)) +
                   problem.picks() * 4;
  bytes.mid = problem.picks() * steps * 128;
  bytes.mid_codes = problem.picks() * steps * 4;
  return bytes;
}

}  // namespace lanewise::hip::gfx942
