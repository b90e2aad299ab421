// Every planned semantics keeps its bound, on ordinary and on adversarial data.

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "benchmarks/accuracy_cases.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

TEST(Accuracy, EveryPlanKeepsItsBound) {
  const unsigned seeds = std::getenv("LANEWISE_NIGHTLY") != nullptr ? 40 : 2;
  for (const AccuracyData data : kAllAccuracyData) {
    for (unsigned seed = 1; seed <= seeds; ++seed) {
      for (const std::int64_t k : {256, 2304}) {
        const AccuracyOperands operands = MakeAccuracyOperands(data, 5, 64, k, seed);
        for (const AccuracyCase& accuracy_case : AccuracyCases()) {
          const absl::StatusOr<reference::Accuracy> accuracy = accuracy_case.measure(operands);
          ASSERT_TRUE(accuracy.ok()) << accuracy_case.name << ": " << accuracy.status();
          EXPECT_EQ(accuracy->elements, 5 * 64);
          EXPECT_TRUE(accuracy->WithinBound())
              << accuracy_case.name << ", " << AccuracyDataName(data) << ", K " << k << ", seed "
              << seed << ": [" << accuracy->worst_m << ", " << accuracy->worst_n << "] errs by "
              << accuracy->worst << " of 2^-24 of its products' magnitudes, bound "
              << accuracy->bound;
          // On ordinary data errors are a few roundings, not the worst case of all.
          if (data == AccuracyData::kNormal) {
            EXPECT_LT(accuracy->worst, 2.5) << accuracy_case.name;
          }
        }
      }
    }
  }
}

TEST(Accuracy, MeasuresInUnitsOfTheLastPlace) {
  Tensor<float, 2> planned(1, 3);
  planned.setValues({{1.0f, 1.0f + 0x1p-22f, 3.0f}});
  Tensor<double, 2> exact(1, 3);
  exact.setValues({{1.0, 1.0, 3.0 - 0x1p-23}});
  Tensor<double, 2> magnitude(1, 3);
  magnitude.setValues({{1.0, 1.0, 16.0}});
  const reference::Accuracy accuracy = reference::MeasureAccuracy(planned, exact, magnitude, 3);
  EXPECT_EQ(accuracy.max_ulps, 2.0);
  EXPECT_NEAR(accuracy.rms_ulps, std::sqrt((4 + 0.25) / 3), 1e-12);
  EXPECT_NEAR(accuracy.worst, 4.0, 1e-5);
  EXPECT_EQ(accuracy.worst_n, 1);
  EXPECT_FALSE(accuracy.WithinBound());
}

TEST(Accuracy, DepthCountsRoundings) {
  using reference::Reduction;
  EXPECT_EQ(RoundingDepth(Reduction{}), 0);
  EXPECT_EQ(RoundingDepth(reference::Ascending(0, 7)), 7);
  // ((p0 + p1) + p2): the first two pass two additions, the last one.
  const Reduction sum = {{}, {{{0, 1, 2}, {}}, {{3}, {}}, {{4, 5, 6, 7, 8}, {}}}};
  EXPECT_EQ(RoundingDepth(sum), 6);
}

}  // namespace
}  // namespace lanewise
