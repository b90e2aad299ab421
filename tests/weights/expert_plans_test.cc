// Plans of MXFP4 experts against the reference: gate and up fused or apart, whole and in parts,
// padded, and back to the sources.

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reference/aiter/shuffle.h"
#include "reference/gfx942/moe.h"
#include "reference/gfx942/pad_experts.h"
#include "reference/testing/tensors.h"
#include "weights/gfx942/experts.h"
#include "weights/gfx950/experts.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

using Bytes3 = Tensor<std::uint8_t, 3>;
using Shape3 = std::array<std::int64_t, 3>;
using reference::RandomBytes;

std::span<const std::uint8_t> View(const Bytes3& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.size())};
}

// Plain experts, gate rows before up rows, and plans that take a part of them.
struct Draw {
  std::int64_t experts, hidden, inter, out;
  Bytes3 w13, w13_codes, w2, w2_codes;

  Draw(std::int64_t experts_, std::int64_t hidden_, std::int64_t inter_, std::int64_t out_,
       std::uint64_t seed)
      : experts(experts_),
        hidden(hidden_),
        inter(inter_),
        out(out_),
        w13(RandomBytes(Shape3{experts_, 2 * inter_, hidden_ / 2}, seed)),
        w13_codes(RandomBytes(Shape3{experts_, 2 * inter_, hidden_ / 32}, seed + 1, 250)),
        w2(RandomBytes(Shape3{experts_, out_, inter_ / 2}, seed + 2)),
        w2_codes(RandomBytes(Shape3{experts_, out_, inter_ / 32}, seed + 3, 250)) {}

  // Experts first .. + count, intermediate columns begin .. + part.
  GateUpSource GateUp(std::int64_t first, std::int64_t count, std::int64_t begin,
                      std::int64_t part) const {
    const auto place = [=, rows = inter](int source, std::int64_t bytes) {
      return [=](std::int64_t e, int half, std::int64_t i) {
        return RowPlace{source, (((first + e) * 2 + half) * rows + begin + i) * bytes};
      };
    };
    return {count, hidden, part, place(0, hidden / 2), place(1, hidden / 32)};
  }
  DownSource Down(std::int64_t first, std::int64_t count, std::int64_t begin,
                  std::int64_t part) const {
    const auto place = [=, rows = out](int source, std::int64_t bytes, std::int64_t offset) {
      return [=](std::int64_t e, std::int64_t i) {
        return RowPlace{source, ((first + e) * rows + i) * bytes + offset};
      };
    };
    return {count, out, part, place(0, inter / 2, begin / 2), place(1, inter / 32, begin / 32)};
  }

  reference::gfx942::Experts Plain(std::int64_t first, std::int64_t count, std::int64_t begin,
                                   std::int64_t part) const {
    const auto gate_up = [&](const Bytes3& t) {
      const std::int64_t columns = t.dimension(2);
      Bytes3 cut(count, 2 * part, columns);
      cut.slice(Shape3{0, 0, 0}, Shape3{count, part, columns}) =
          t.slice(Shape3{first, begin, 0}, Shape3{count, part, columns});
      cut.slice(Shape3{0, part, 0}, Shape3{count, part, columns}) =
          t.slice(Shape3{first, inter + begin, 0}, Shape3{count, part, columns});
      return cut;
    };
    return {gate_up(w13), gate_up(w13_codes),
            w2.slice(Shape3{first, 0, begin / 2}, Shape3{count, out, part / 2}),
            w2_codes.slice(Shape3{first, 0, begin / 32}, Shape3{count, out, part / 32})};
  }
};

// Runs a plan, compares with the expected bytes, restores, and compares the sources that it covers:
// all of them where `whole`.
void Check(const TensorPlan& plan, const Sources& sources, std::span<const std::uint8_t> expected,
           bool whole) {
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(plan.bytes()), 0xA5);
  const auto run = RunPlan(plan, sources, {.threads = 2}, memory);
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_EQ(memory.size(), expected.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(memory[i], expected[i]) << plan.layout.tag << ", first wrong byte at offset " << i;
  }
  if (!whole) return;
  std::vector<std::vector<std::uint8_t>> restored;
  Sinks sinks;
  for (const auto& source : sources) restored.emplace_back(source.size(), 0x5A);
  for (auto& bytes : restored) sinks.push_back(bytes);
  absl::Status status = RestorePlan(plan, memory, 2, sinks);
  ASSERT_TRUE(status.ok()) << status.message();
  status = ApplyZeroSigns(plan, ZeroSigns(plan, sources), sinks);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::size_t covered = static_cast<std::size_t>(plan.place(0).source);
  ASSERT_TRUE(
      std::equal(sources[covered].begin(), sources[covered].end(), restored[covered].begin()));
}

TEST(ExpertPlans, Gfx942EqualsThePaddedReferenceWholeAndInParts) {
  const std::uint64_t seed = std::random_device()();
  struct Case {
    std::int64_t experts, hidden, inter, out, first, count, begin, part;
  };
  for (const Case& c : {
           Case{2, 256, 64, 32, 0, 2, 0, 64},    // no padding
           Case{3, 288, 96, 48, 0, 3, 0, 96},    // both padded: 512 and 128
           Case{4, 512, 192, 16, 1, 2, 0, 192},  // a range of experts
           Case{2, 256, 192, 32, 0, 2, 96, 96},  // the last half of the intermediate size
           Case{1, 2880, 64, 16, 0, 1, 0, 64},   // gpt-oss's hidden size: 3072
           Case{1, 256, 576, 16, 0, 1, 0, 576},  // a 32-byte step at the end of w2's rows
       }) {
    SCOPED_TRACE(absl::StrCat(c.experts, " experts, hidden ", c.hidden, ", inter ", c.inter,
                              ", part ", c.begin, " + ", c.part, ", seed ", seed));
    const Draw draw(c.experts, c.hidden, c.inter, c.out, seed);
    const bool whole = c.count == c.experts && c.part == c.inter;
    const auto padded =
        reference::gfx942::PadExperts(draw.Plain(c.first, c.count, c.begin, c.part));
    ASSERT_TRUE(padded.ok()) << padded.status().message();
    const auto expected = reference::gfx942::MoeCopies(*padded, padded->w2.dimension(2) * 2);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    const auto w13 = gfx942::PlanGateUp(draw.GateUp(c.first, c.count, c.begin, c.part), {});
    const auto w2 = gfx942::PlanDown(draw.Down(c.first, c.count, c.begin, c.part), {});
    ASSERT_TRUE(w13.ok()) << w13.status().message();
    ASSERT_TRUE(w2.ok()) << w2.status().message();
    const Sources gate_up = {View(draw.w13), View(draw.w13_codes)};
    const Sources down = {View(draw.w2), View(draw.w2_codes)};
    Check(w13->weight, gate_up, View(expected->experts.w13), whole);
    Check(w13->codes, gate_up, View(expected->experts.w13_codes), whole);
    Check(w2->weight, down, View(expected->experts.w2), whole);
    Check(w2->codes, down, View(expected->experts.w2_codes), whole);
    if (HasFatalFailure()) return;
  }
}

TEST(ExpertPlans, Gfx950EqualsAiterShufflesWithPadding) {
  const Draw draw(3, 288 * 2, 96, 48, 11);
  const Sources gate_up = {View(draw.w13), View(draw.w13_codes)};
  const auto flat = [](const Bytes3& t) {
    return Tensor<std::uint8_t, 2>(
        t.reshape(std::array<std::int64_t, 2>{t.dimension(0) * t.dimension(1), t.dimension(2)}));
  };
  const auto plans = gfx950::PlanGateUp(draw.GateUp(0, 3, 0, 96), GateUpRowOrder::kGateThenUp);
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  const auto shuffled = reference::aiter::ShuffleWeight16x16(draw.w13);
  ASSERT_TRUE(shuffled.ok()) << shuffled.status().message();
  Check(plans->weight, gate_up, View(*shuffled), true);
  const auto codes = reference::aiter::E8m0Shuffle(reference::aiter::PadE8m0(flat(draw.w13_codes)));
  ASSERT_TRUE(codes.ok()) << codes.status().message();
  Check(plans->codes, gate_up, {codes->data(), static_cast<std::size_t>(codes->size())}, true);
}

TEST(ExpertPlans, RefuseLargeCodesAndOddSizes) {
  Draw draw(1, 256, 64, 16, 12);
  draw.w13_codes(0, 70, 3) = 250;
  const auto plans = gfx942::PlanGateUp(draw.GateUp(0, 1, 0, 64), {});
  ASSERT_TRUE(plans.ok());
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(plans->codes.bytes()));
  const auto run = RunPlan(plans->codes, {View(draw.w13), View(draw.w13_codes)}, {}, memory);
  ASSERT_FALSE(run.ok());
  // Up row 6 is row 13 of the interleaved copy.
  EXPECT_NE(std::string(run.status().message()).find("scale code 250 (0xFA) at row 13, column 3"),
            std::string::npos)
      << run.status().message();
  EXPECT_FALSE(gfx942::PlanGateUp(Draw(1, 272, 64, 16, 1).GateUp(0, 1, 0, 64), {}).ok());
  EXPECT_FALSE(gfx942::PlanDown(Draw(1, 256, 64, 24, 1).Down(0, 1, 0, 64), {}).ok());
  EXPECT_FALSE(gfx950::PlanDown(Draw(1, 256, 96, 16, 1).Down(0, 1, 0, 96)).ok());
}

}  // namespace
}  // namespace lanewise
