// The facts of the cost table, for the small shapes; and that each fact can fail.

#include "benchmarks/kernel_cost/kernel_cost.h"

#include <string>
#include <vector>

#include "base/status.h"
#include "benchmarks/kernel_cost/cases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise::benchmarks {
namespace {

using testing::HasSubstr;

TEST(KernelCost, EveryRowKeepsItsPromises) {
  int small = 0;
  for (const CostCase& each : AllCases()) {
    if (!each.small) continue;
    ++small;
    const absl::StatusOr<CostRow> row = Measure(each);
    ASSERT_TRUE(row.ok()) << row.status();
    EXPECT_TRUE(CheckFacts(each, *row).ok()) << CheckFacts(each, *row);
    if (each.lines_once && row->HasWeights()) {
      // 1 KiB without a gap is 8 lines.
      EXPECT_EQ(row->LinesPerKib(), 8.0) << each.kernel << ", " << each.shape;
    }
    EXPECT_GT(row->vgprs, 0) << each.kernel;
    EXPECT_GT(row->waves_per_cu, 0) << each.kernel;
  }
  EXPECT_GT(small, 0);
}

// Every kernel has a small shape, which the test above runs, and a real one for the table.
TEST(KernelCost, EveryKernelHasSmallAndRealShapes) {
  const std::vector<CostCase> all = AllCases();
  for (const CostCase& each : all) {
    bool small = false, real = false;
    for (const CostCase& other : all) {
      if (other.kernel != each.kernel) continue;
      small = small || other.small;
      real = real || !other.small;
    }
    EXPECT_TRUE(small && real) << each.kernel;
  }
}

// Seed 000's figure: in lane-major order a load takes 64 bytes of each of 16 rows, 16 lines. Of
// rows of 288 bytes, which begin at 0, 32, 64 or 96 within a line, 4 of the 16 reach into a second
// one, so that each of the 4 loads of 1 KiB takes 20; the tail of 32 bytes a row stays within 16.
TEST(KernelCost, LaneMajorTakesTwiceTheLinesOrMore) {
  int seen = 0;
  for (const CostCase& each : AllCases()) {
    if (!each.small || each.kernel != "load fp4_lane_major") continue;
    const absl::StatusOr<CostRow> row = Measure(each);
    ASSERT_TRUE(row.ok()) << row.status();
    if (each.shape.find("16 x 576") != std::string::npos) {
      EXPECT_EQ(row->weight_lines, 4 * 20 + 16);
      EXPECT_EQ(row->weight_lines_touched, 16 * 288 / 128);
    } else {
      EXPECT_EQ(row->LinesPerKib(), 16.0) << each.shape;
    }
    EXPECT_EQ(row->weight_bytes, row->cost.weight_bytes);
    ++seen;
  }
  EXPECT_EQ(seen, 3);
}

TEST(KernelCost, EachFactCanFail) {
  CostCase good;
  good.kernel = "kernel";
  good.shape = "shape";
  good.cost = {.weight_bytes = 1024, .launches = 1};
  CostRow row;
  row.cost = good.cost;
  row.launches = 1;
  row.weight_bytes = 1024;
  row.weight_lines = row.weight_lines_touched = 8;
  ASSERT_TRUE(CheckFacts(good, row).ok());
  const auto message = [&](auto change) {
    CostRow wrong = row;
    change(wrong);
    return std::string(CheckFacts(good, wrong).message());
  };
  EXPECT_THAT(message([](CostRow& r) { r.weight_bytes = 2048; }),
              HasSubstr("kernel, shape: weight bytes fetched 2048, expected 1024"));
  EXPECT_THAT(message([](CostRow& r) { r.weight_lines = 9; }),
              HasSubstr("asked for 9, expected 8"));
  EXPECT_THAT(message([](CostRow& r) { r.lds_conflicts = 3; }), HasSubstr("LDS conflict cycles 3"));
  EXPECT_THAT(message([](CostRow& r) { r.scratch_bytes = 4; }), HasSubstr("scratch bytes"));
  EXPECT_THAT(message([](CostRow& r) { r.launches = 2; }), HasSubstr("launches 2"));
  good.cost = {.activation_bytes = 64, .output_bytes = 32, .launches = 1};
  row.cost = good.cost;
  row.loaded_bytes = 64;
  row.stored_bytes = 32;
  ASSERT_TRUE(CheckFacts(good, row).ok());
  EXPECT_THAT(message([](CostRow& r) { r.loaded_bytes = 65; }), HasSubstr("bytes loaded 65"));
  EXPECT_THAT(message([](CostRow& r) { r.stored_bytes = 33; }), HasSubstr("bytes stored 33"));
  EXPECT_THAT(message([](CostRow& r) { r.loaded_lines = 1; }), HasSubstr("lines asked for 1"));
}

TEST(KernelCost, RooflineAndShares) {
  CostRow row;
  row.cost = {.weight_bytes = 5'000'000, .activation_bytes = 200'000, .output_bytes = 100'000};
  EXPECT_DOUBLE_EQ(row.RooflineMicroseconds(kMi300xBandwidth), 1.0);
  row.matrix_cycles = 30;
  row.issue_cycles = 90;
  EXPECT_DOUBLE_EQ(row.MatrixShare(), 0.25);
  row.weight_bytes = 100;
  row.vector_instructions = 20;
  EXPECT_DOUBLE_EQ(row.VectorInstructionsPerByte(), 0.2);
}

TEST(KernelCost, FailuresNameTheRow) {
  CostCase bad;
  bad.kernel = "kernel";
  bad.shape = "shape";
  bad.run = [](const hip::Device&) { return Internal("no luck"); };
  EXPECT_EQ(std::string(Measure(bad).status().message()), "kernel, shape: no luck");
  bad.arch = "gfx90a";
  EXPECT_THAT(std::string(Measure(bad).status().message()), HasSubstr("no gfx90a device"));
}

}  // namespace
}  // namespace lanewise::benchmarks
