#include "checkpoint/prepare/touched_bytes.h"

#include <cstdint>
#include <vector>

#include "checkpoint/files/mapped_file.h"
#include "gtest/gtest.h"
#include "layouts/catalogue.h"
#include "weights/lead_rows.h"
#include "weights/tensor_plan.h"

namespace lanewise {
namespace {

TensorPlan PlanOf(const Layout& layout, std::int64_t rows, std::int64_t bytes) {
  TensorPlan plan = *MakePlan(layout, rows, bytes);
  plan.place = [bytes](std::int64_t row) { return RowPlace{0, row * bytes}; };
  return plan;
}

// Whether every byte of every lead is of the rows that LeadRowsOf says.
bool LeadsAreTheirRows(const TensorPlan& plan) {
  const std::int64_t rows = LeadRowsOf(plan.packer).rows;
  const BoundLayout& layout = plan.packer.layout();
  for (std::int64_t offset = 0; offset < layout.units(); ++offset) {
    std::int64_t coordinate[2];
    layout.Coordinate(offset, coordinate);
    if (coordinate[0] / rows != offset / plan.packer.lead_bytes()) return false;
  }
  return true;
}

TEST(LeadRowsTest, TilesAreLeads) {
  const TensorPlan plans[] = {PlanOf(CatalogueLayout("plain"), 12, 40000),
                              PlanOf(CatalogueLayout("plain"), 12, 40),
                              PlanOf(CatalogueLayout("gfx942/dense"), 64, 4096),
                              // With a remainder.
                              PlanOf(CatalogueLayout("gfx942/fp4_tile_major"), 64, 2080),
                              PlanOf(CatalogueLayout("aiter/shuffle_weight_16x16"), 64, 2048)};
  for (const TensorPlan& plan : plans) {
    EXPECT_TRUE(LeadRowsOf(plan.packer).contiguous) << plan.layout.tag;
    EXPECT_TRUE(LeadsAreTheirRows(plan)) << plan.layout.tag;
    EXPECT_EQ(LeadRowsOf(plan.packer).rows * plan.packer.leads(), plan.rows()) << plan.layout.tag;
  }
  EXPECT_TRUE(LeadRowsOf(PlanOf(CatalogueLayout("plain"), 0, 40).packer).contiguous);
}

TEST(LeadRowsTest, ALeadOfInterleavedHeadsTakesRowsFromAll) {
  const TensorPlan plan =
      PlanOf(CatalogueLayout("flashmla/q_fused").WithParameter("chunks", 4), 3 * 4 * 16, 4096);
  EXPECT_FALSE(LeadRowsOf(plan.packer).contiguous);
  EXPECT_FALSE(LeadsAreTheirRows(plan));
  const std::vector<TouchedBytes> touched = TouchedByLeads(plan, 1, 1);
  ASSERT_EQ(touched.size(), 1u);
  EXPECT_EQ(touched[0].begin, 0);
  EXPECT_EQ(touched[0].end, 3 * 4 * 16 * 4096);
}

TEST(TouchedBytesTest, OneRunASourceWithCodesAndWithoutPadding) {
  TensorPlan plan = PlanOf(CatalogueLayout("plain"), 40, 64);
  plan.place = [](std::int64_t row) {
    if (row % 4 == 3) return RowPlace::Padding();
    return RowPlace{static_cast<int>(row % 2), 1000 + row * 64};
  };
  plan.conversion = Conversion::kE4m3ToBf16;
  plan.code_place = [](std::int64_t row) { return RowPlace{2, row * 2}; };
  const std::vector<TouchedBytes> touched = TouchedByRows(plan, 4, 11);
  // Rows 4, 5, 6, 8, 9, 10: the even ones of source 0, the odd of 1, their two codes each of 2.
  ASSERT_EQ(touched.size(), 3u);
  const std::int64_t expected[3][3] = {
      {0, 1000 + 4 * 64, 1000 + 11 * 64}, {2, 8, 22}, {1, 1000 + 5 * 64, 1000 + 10 * 64}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(touched[i].source, expected[i][0]);
    EXPECT_EQ(touched[i].begin, expected[i][1]) << "source " << touched[i].source;
    EXPECT_EQ(touched[i].end, expected[i][2]) << "source " << touched[i].source;
  }
}

// Codes that are repeated: 128 x 128 blocks, so one code a row of 128 elements.
TEST(TouchedBytesTest, AgreeingRowsAndRepeatedCodes) {
  TensorPlan plan = PlanOf(CatalogueLayout("plain"), 2, 4);
  plan.agreeing_rows = 32;
  plan.agreeing_stride = 4;
  plan.place = [](std::int64_t row) { return RowPlace{0, row * 128}; };
  const std::vector<TouchedBytes> touched = TouchedByRows(plan, 1, 2);
  ASSERT_EQ(touched.size(), 1u);
  EXPECT_EQ(touched[0].begin, 128);
  EXPECT_EQ(touched[0].end, 256);
}

TEST(TouchedBytesTest, BlocksThatSourcesShareCountOnce) {
  const auto* base = reinterpret_cast<const std::uint8_t*>(std::uintptr_t{64} * kPageBlockBytes);
  const Sources sources = {{base, 1000}, {base + 5000, 1000}, {base + kPageBlockBytes - 1, 2}};
  const TouchedBytes both[] = {{0, 0, 1000}, {1, 10, 20}};
  EXPECT_EQ(PageBytes(sources, both), kPageBlockBytes);
  const TouchedBytes across[] = {{2, 0, 2}, {0, 0, 1}};
  EXPECT_EQ(PageBytes(sources, across), 2 * kPageBlockBytes);
  EXPECT_EQ(PageBytes(sources, {}), 0);
}

}  // namespace
}  // namespace lanewise
