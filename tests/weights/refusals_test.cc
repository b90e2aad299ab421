// What the plans of weights/ say when they refuse: the coordinate, the value, what was expected.
// (What they make of what they accept is tests/differential's: prepare/*.)

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "reference/testing/tensors.h"
#include "weights/gfx942/dense.h"
#include "weights/gfx942/experts.h"
#include "weights/gfx950/experts.h"

namespace lanewise {
namespace {

using reference::RandomBytes;

// An [n, k] weight whose NaN bytes are gone, with codes of 32 columns below 230.
struct Linear {
  Tensor<std::uint8_t, 2> weight, codes;
  LinearSource source;

  Linear(std::int64_t n, std::int64_t k, std::int64_t code_rows, std::uint64_t seed)
      : weight(RandomBytes(std::array<std::int64_t, 2>{n, k}, seed)),
        codes(RandomBytes(std::array<std::int64_t, 2>{n / code_rows, k / 32}, seed + 1, 230)),
        source(LinearSource::Whole(n, k, LinearSource::WeightForm::kE4m3, code_rows)) {
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      if ((weight.data()[i] & 0x7F) == 0x7F) weight.data()[i] ^= 1;
    }
  }
  Sources sources() const {
    return {{weight.data(), static_cast<std::size_t>(weight.size())},
            {codes.data(), static_cast<std::size_t>(codes.size())}};
  }
};

std::string Message(const TensorPlan& plan, const Sources& sources) {
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(plan.bytes()));
  const auto run = RunPlan(plan, sources, {.threads = 2}, memory);
  return run.ok() ? "accepted" : std::string(run.status().message());
}

testing::AssertionResult Says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << message << "\", expected \"" << part << "\"";
}

TEST(Refusals, OfALinearNameTheCoordinate) {
  Linear linear(64, 128, 32, 5);
  const auto plans = gfx942::PlanDense(linear.source, {.refuse_nans = true});
  ASSERT_TRUE(plans.ok());
  linear.weight(37, 90) = 0xFF;
  EXPECT_TRUE(Says(Message(plans->weight, linear.sources()), "byte 0xFF at row 37, column 90"));
  linear.codes(1, 2) = 250;
  EXPECT_TRUE(
      Says(Message(plans->codes, linear.sources()), "scale code 250 (0xFA) at row 1, column 2"));
  linear.codes(1, 2) = 249;
  EXPECT_EQ(Message(plans->codes, linear.sources()), "accepted");
  // Sources that are too short are refused, not read.
  Sources cut = linear.sources();
  cut[0] = cut[0].subspan(1);
  EXPECT_TRUE(Says(Message(plans->weight, cut), "row 63"));
}

TEST(Refusals, OfRowCodesThatDoNotFold) {
  const Linear linear(64, 128, 1, 6);
  const auto plans = gfx942::PlanDense(linear.source, {});
  ASSERT_TRUE(plans.ok());
  EXPECT_TRUE(
      Says(Message(plans->codes, linear.sources()), "row scales (64, 4) are not 32 x 32 blocks"));
}

TEST(Refusals, OfSizesComeBeforeAnythingRuns) {
  for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{48, 128}, {64, 100}}) {
    EXPECT_FALSE(
        gfx942::PlanDense(LinearSource::Whole(n, k, LinearSource::WeightForm::kE4m3, 32), {}).ok());
  }
  LinearSource outside = LinearSource::Whole(64, 128, LinearSource::WeightForm::kE4m3, 32);
  outside.row_begin = 32;
  EXPECT_FALSE(gfx942::PlanDense(outside, {}).ok());
  const auto gate_up = [](std::int64_t hidden, std::int64_t inter) {
    return gfx942::PlainExperts{1, hidden, inter, inter, 16}.GateUp();
  };
  const auto down = [](std::int64_t inter, std::int64_t out) {
    return gfx942::PlainExperts{1, 256, inter, inter, out}.Down();
  };
  EXPECT_TRUE(gfx942::PlanGateUp(gate_up(256, 64), {}).ok());
  EXPECT_FALSE(gfx942::PlanGateUp(gate_up(272, 64), {}).ok());
  EXPECT_FALSE(gfx942::PlanDown(down(64, 24), {}).ok());
  EXPECT_FALSE(gfx950::PlanDown(down(96, 16)).ok());
}

TEST(Refusals, OfAnExpertsCodeNameItsRowInTheCopy) {
  const gfx942::PlainExperts plain = {1, 256, 64, 64, 16};
  const auto w13 = RandomBytes(std::array<std::int64_t, 3>{1, 128, 128}, 12);
  auto codes = RandomBytes(std::array<std::int64_t, 3>{1, 128, 8}, 13, 250);
  codes(0, 70, 3) = 250;
  const auto plans = gfx942::PlanGateUp(plain.GateUp(), {});
  ASSERT_TRUE(plans.ok());
  // Up row 6 is row 13 of the interleaved copy.
  EXPECT_TRUE(Says(Message(plans->codes, {{w13.data(), static_cast<std::size_t>(w13.size())},
                                          {codes.data(), static_cast<std::size_t>(codes.size())}}),
                   "scale code 250 (0xFA) at row 13, column 3"));
}

}  // namespace
}  // namespace lanewise
