#include "reference/gemm/output.h"

#include <array>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "reference/gemm/test_matrices.h"

namespace lanewise::reference {
namespace {

Tensor<Bf16, 2> Row(const std::vector<float>& values) {
  Tensor<Bf16, 2> row(1, static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    row(0, static_cast<std::int64_t>(i)) = Bf16::FromFloat(values[i]);
  }
  return row;
}

TEST(Output, RoundsToNearestEven) {
  Tensor<float, 2> values(1, 4);
  values.setValues({{1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f, -0x1p-134f, NAN}});
  const Tensor<Bf16, 2> rounded = RoundToBf16(values);
  EXPECT_EQ(rounded(0, 0).ToFloat(), 1.0f);
  EXPECT_EQ(rounded(0, 1).ToFloat(), 1.0f + 0x1p-6f);
  EXPECT_EQ(rounded(0, 2).ToFloat(), 0.0f);
  EXPECT_EQ(rounded(0, 3).bits(), 0x7FC0);
}

// The bias is added to the rounded output: 256 + 1 is 256 in bf16, however exact the sum was
// before.
TEST(Output, BiasIsAddedInBf16) {
  Tensor<Bf16, 1> bias(2);
  bias(0) = Bf16::FromFloat(1.0f);
  bias(1) = Bf16::FromFloat(3.0f);
  const absl::StatusOr<Tensor<Bf16, 2>> sum = AddBias(Row({256.0f, 256.0f}), bias);
  ASSERT_TRUE(sum.ok());
  EXPECT_TRUE(SameNumbers(Row({256.0f, 260.0f}), *sum));
  EXPECT_TRUE(Refused(AddBias(Row({1.0f}), bias).status(), "bias is [2], expected [1]"));
}

// In float32: two halves of an ulp of bf16 count, which bf16 sums would drop.
TEST(Output, RanksAreAddedInFloat32) {
  const std::array<Tensor<Bf16, 2>, 3> partials = {Row({256.0f, 1.0f}), Row({1.0f, -1.0f}),
                                                   Row({1.0f, 0.0f})};
  const absl::StatusOr<Tensor<Bf16, 2>> sum = SumRanks(partials);
  ASSERT_TRUE(sum.ok());
  EXPECT_TRUE(SameNumbers(Row({258.0f, 0.0f}), *sum));
  // Nothing but the partials is added: all -0 give -0, and +0 beside them +0.
  const std::array<Tensor<Bf16, 2>, 2> zeros = {Row({-0.0f, -0.0f}), Row({-0.0f, 0.0f})};
  EXPECT_TRUE(SameNumbers(Row({-0.0f, 0.0f}), *SumRanks(zeros)));
  EXPECT_TRUE(Refused(SumRanks({}).status(), "no partial outputs"));
  const std::array<Tensor<Bf16, 2>, 2> unlike = {Row({1.0f}), Row({1.0f, 2.0f})};
  EXPECT_TRUE(
      Refused(SumRanks(unlike).status(), "of rank 1 is [1, 2], expected [1, 1] as of rank 0"));
}

}  // namespace
}  // namespace lanewise::reference
