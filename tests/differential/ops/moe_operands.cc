#include "tests/differential/ops/moe_operands.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace lanewise::differential {
namespace {

// Each kind of data is another routing.
void FillExperts(Data data, const Call& call, std::mt19937_64& random) {
  const hip::gfx942::MoeProblem p = MoeProblemOf(call);
  const std::int64_t count = p.layer_experts(), top_k = p.top_k, picks = p.picks();
  const std::int64_t outside[] = {-1,
                                  count,
                                  count + 1,
                                  256 + count,
                                  std::numeric_limits<std::int32_t>::min(),
                                  std::numeric_limits<std::int32_t>::max()};
  auto* const experts = call.Data<std::int32_t>("experts");
  for (std::int64_t i = 0; i < picks; ++i) {
    const std::uint64_t drawn = random();
    std::int64_t expert = static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(count));
    const std::int64_t none = outside[drawn / 65536 % std::size(outside)];
    switch (data) {
      case Data::kRandomBits:  // some of no expert
        if (drawn >> 61 == 0) expert = none;
        break;
      case Data::kNan:  // the last token has none at all
        if (i / top_k == call["T"] - 1) expert = none;
        break;
      case Data::kExtremeScales:  // all the same
        expert = p.first_expert + p.experts - 1;
        break;
      case Data::kOneHot:  // as many as there are
        expert = i % count;
        break;
      case Data::kNegativeZeros:
        expert = count - 1 - i % count;
        break;
      default:
        break;
    }
    experts[i] = static_cast<std::int32_t>(expert);
  }
}

}  // namespace

hip::gfx942::MoeProblem MoeProblemOf(const Call& call) {
  hip::gfx942::MoeProblem p;
  p.tokens = call["T"];
  p.top_k = call["top"];
  p.experts = call["E"];
  p.hidden = call["hidden"];
  p.inter = call["inter"];
  if (call["held"] == 1) {
    p.first_expert = 1;
    p.all_experts = p.experts + 3;
  }
  if (call["bias"] == 1 && call["held"] == 1) {
    p.w13_bias_stride = 2 * p.inter + kW13BiasGap;
    p.w2_bias_stride = p.hidden + kW2BiasGap;
  }
  if (call["swiglu"] == 1) p.swiglu = kGptOssSwiglu;
  return p;
}

absl::Status CheckMoeShape(const hip::gfx942::MoeProblem& p) {
  if (p.top_k < 1 || p.top_k > 16) return InvalidArgument("1 to 16 picks a token");
  if (p.hidden % 32 != 0 || p.inter % 32 != 0) {
    return InvalidArgument("hidden and inter are multiples of 32");
  }
  return absl::OkStatus();
}

Argument ExpertIndices() {
  return {.name = "experts", .format = "i32", .extents = {"T", "top"}, .generate = FillExperts};
}

std::vector<Data> MoeData() {
  return {Data::kRandomBits, Data::kNormal,        Data::kSubnormals, Data::kNegativeZeros,
          Data::kNan,        Data::kExtremeScales, Data::kOneHot};
}

std::vector<Dimension> WithHeldAndBias(std::vector<Dimension> dimensions) {
  dimensions.push_back({"held", {"all", "some"}});
  dimensions.push_back({"bias", {"without", "with"}});
  return dimensions;
}

Argument ExpertBias(const std::string& name, const std::string& rows, int gap) {
  return {.name = name,
          .format = "bf16",
          .extents = {"bias * E", absl::StrCat(rows, " + ", gap, " * held")}};
}

std::vector<std::int64_t> PicksOf(const Call& call, std::int64_t expert) {
  const hip::gfx942::MoeProblem p = MoeProblemOf(call);
  std::vector<std::int64_t> picks;
  for (std::int64_t i = 0; i < p.picks(); ++i) {
    if (call.Data<std::int32_t>("experts")[i] == p.first_expert + expert) picks.push_back(i);
  }
  return picks;
}

bool IsHeld(const Call& call, std::int64_t pick) {
  const hip::gfx942::MoeProblem p = MoeProblemOf(call);
  const std::int64_t expert = call.Data<std::int32_t>("experts")[pick] - p.first_expert;
  return expert >= 0 && expert < p.experts;
}

bool Exists(const Call& call, std::int64_t pick) {
  const std::int32_t expert = call.Data<std::int32_t>("experts")[pick];
  return expert >= 0 && expert < MoeProblemOf(call).layer_experts();
}

std::vector<std::string> GroupingWords() { return {"4 + 4 * min(T * top, E) + T * top"}; }
std::vector<std::string> MidExtents() { return {"T * top", "roundup(inter, 128)"}; }
std::vector<std::string> MidCodesExtents() { return {"T * top", "roundup(inter, 128) / 32"}; }

void Group(const Call& call) {
  auto* const words = call.Data<std::uint32_t>("grouping");
  auto* const order = words + 4 + 4 * std::min(call["T"] * call["top"], call["E"]);
  std::uint32_t groups = 0, first = 0;
  for (std::int64_t expert = 0; expert < call["E"]; ++expert) {
    const std::vector<std::int64_t> picks = PicksOf(call, expert);
    if (picks.empty()) continue;
    const auto count = static_cast<std::uint32_t>(picks.size());
    const std::uint32_t group[4] = {static_cast<std::uint32_t>(expert), first, count, 0};
    std::copy_n(group, 4, words + 4 + 4 * groups++);
    for (const std::int64_t pick : picks) order[first++] = static_cast<std::uint32_t>(pick);
  }
  words[0] = groups;
}

std::int64_t RowOffset(std::int64_t column) {
  const std::int64_t block = column / 32, in = column % 32;
  return 128 * (block / 4) + 32 * (in / 8) + 8 * (block % 4) + in % 2 * 4 + in % 8 / 2;
}

Tensor<std::uint8_t, 3> BytesOf(const Call& call, std::string_view name, int elements_a_byte) {
  const Operand& operand = call.At(name);
  Tensor<std::uint8_t, 3> bytes(operand.extents[0], operand.extents[1],
                                operand.extents[2] / elements_a_byte);
  std::memcpy(bytes.data(), operand.data, static_cast<std::size_t>(operand.bytes));
  return bytes;
}

Tensor<std::uint8_t, 3> Zeros(std::int64_t a, std::int64_t b, std::int64_t c) {
  Tensor<std::uint8_t, 3> bytes(a, b, c);
  bytes.setZero();
  return bytes;
}

OwnedMatrix ExpertMatrix(const Tensor<std::uint8_t, 3>& bytes, const Tensor<std::uint8_t, 3>& codes,
                         std::int64_t expert) {
  return {ElementFormat::kE2m1, bytes.chip(expert, 0), codes.chip(expert, 0)};
}

}  // namespace lanewise::differential
