// The device's copies against Pack and Unpack of layouts/, every byte, for every catalogue layout.

#include "hip/common/layout_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/pack.h"
#include "layouts/test_shapes.h"

namespace lanewise::hip {
namespace {

using testing::HasSubstr;

int64_t ParameterOf(const BoundCase& test) {
  const Layout& layout = *FindLayout(test.layout.tag);
  for (int i = 0; i < layout.main.factors; ++i) {
    if (!layout.main.factor[i].parameter.empty()) return test.layout.main.factor[i].size;
  }
  return 0;
}

class LayoutCopyTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    auto copy = LayoutCopy::Load(device());
    ASSERT_TRUE(copy.ok()) << copy.status();
    copy_.emplace(*std::move(copy));
  }

  // Packs and unpacks random bytes on the device, `skip` units behind the logical array's aligned
  // beginning, and compares with the host.
  void Compare(const BoundCase& test, int64_t unit, int64_t skip, int64_t units_per_launch,
               std::mt19937_64& random) {
    const auto bytes = static_cast<size_t>(test.bound.units() * unit);
    const auto before = static_cast<size_t>(skip * unit);
    std::vector<uint8_t> logical(bytes), expected(bytes);
    for (uint8_t& byte : logical) byte = static_cast<uint8_t>(random());
    ASSERT_TRUE(lanewise::Pack(test.bound, static_cast<int>(unit), logical, expected).ok());

    std::vector<uint8_t> source(before, kPoison);
    source.insert(source.end(), logical.begin(), logical.end());
    const Buffer rows = In(source, "logical");
    const Buffer memory = Out(static_cast<int64_t>(bytes), "memory");
    LayoutCopy::Problem problem = {.tag = test.layout.tag,
                                   .parameter = ParameterOf(test),
                                   .extents = test.extents,
                                   .unit_bytes = unit,
                                   .units_per_launch = units_per_launch};
    Run(problem, rows, before, memory);
    const std::vector<uint8_t> packed = Read(memory);
    for (size_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(packed[i], expected[i]) << "packed byte " << i << ", " << Where(test, i / unit);
    }
    ASSERT_EQ(Read(rows), source) << "packing has changed its source";

    const Buffer back = Out(static_cast<int64_t>(bytes + before), "logical");
    problem.direction = LayoutCopy::Direction::kUnpack;
    Run(problem, back, before, memory);
    const std::vector<uint8_t> unpacked = Read(back);
    for (size_t i = 0; i < before + bytes; ++i) ASSERT_EQ(unpacked[i], source[i]) << "byte " << i;
    ASSERT_EQ(Read(memory), expected) << "unpacking has changed its source";
  }

  void Run(const LayoutCopy::Problem& problem, const Buffer& rows, size_t before,
           const Buffer& memory) {
    const absl::Status status = copy_->Launch(
        problem, {static_cast<uint8_t*>(rows.data()) + before, memory.data()}, stream());
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(stream().Synchronize().ok());
  }

  static std::string Where(const BoundCase& test, size_t offset) {
    std::vector<int64_t> coordinate(static_cast<size_t>(test.bound.axes()));
    test.bound.Coordinate(static_cast<int64_t>(offset), coordinate.data());
    return FactorText(test.bound, coordinate);
  }

  std::optional<LayoutCopy> copy_;
};

TEST_P(LayoutCopyTest, EveryCatalogueLayoutInEveryShape) {
  const uint64_t seed = NewSeed();
  std::mt19937_64 random(seed);
  int64_t compared = 0;
  for (const BoundCase& test : CatalogueCases()) {
    if (test.bound.units() > 20'000) continue;
    SCOPED_TRACE(test.name + ", seed " + std::to_string(seed));
    // At a place that may allow narrow accesses only; tests/differential has the aligned ones.
    const int64_t unit = int64_t{1} << (random() % 5);
    Compare(test, unit, static_cast<int64_t>(random() % 8), int64_t{1} << 31, random);
    if (HasFatalFailure()) return;
    ++compared;
  }
  EXPECT_GT(compared, 500);
}

TEST_P(LayoutCopyTest, EveryUnitSize) {
  const uint64_t seed = NewSeed();
  std::mt19937_64 random(seed);
  for (const BoundCase& test : CatalogueCases()) {
    if (test.bound.units() > 3'000 || test.bound.units() == 0 || random() % 4 != 0) continue;
    for (const int64_t unit : {1, 2, 4, 8, 16}) {
      SCOPED_TRACE(test.name + ", unit " + std::to_string(unit) + ", seed " + std::to_string(seed));
      Compare(test, unit, 0, int64_t{1} << 31, random);
      if (HasFatalFailure()) return;
    }
  }
}

// Arrays of more than 2^31 units are cut into launches; here of fewer.
TEST_P(LayoutCopyTest, SlicesMakeTheWhole) {
  const uint64_t seed = NewSeed();
  std::mt19937_64 random(seed);
  int64_t cut = 0;
  for (const BoundCase& test : CatalogueCases()) {
    if (test.bound.units() > 20'000 || test.bound.units() == 0) continue;
    const Region& region = test.bound.region(0);
    const int64_t outermost = region.digit[region.memory_order[0]].size;
    if (outermost == 1 || random() % 3 != 0) continue;
    SCOPED_TRACE(test.name + ", seed " + std::to_string(seed));
    int64_t inner = 0;
    for (int i = 0; i < test.bound.regions(); ++i) {
      const Region& each = test.bound.region(i);
      inner = std::max(inner, each.units / each.digit[each.memory_order[0]].size);
    }
    const int64_t most = inner * (1 + static_cast<int64_t>(random() % 2));
    Compare(test, int64_t{1} << (random() % 3), 0, most, random);
    if (HasFatalFailure()) return;
    ++cut;
  }
  EXPECT_GT(cut, 50);
}

// Shapes of bytes that fit no power of two: tails of every length.
TEST_P(LayoutCopyTest, PlainTails) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int64_t columns = 1; columns < 40; ++columns) {
    const std::vector<int64_t> extents = {3, columns};
    BoundCase test;
    test.layout = *FindLayout("plain");
    test.extents = extents;
    test.bound = *Bind(test.layout, extents);
    Compare(test, 1, columns % 5, int64_t{1} << 31, random);
    if (HasFatalFailure()) return;
  }
}

TEST_P(LayoutCopyTest, RefusesWhatDoesNotFit) {
  const Buffer buffer = Out(4096);
  auto* const data = static_cast<uint8_t*>(buffer.data());
  const auto message = [&](const LayoutCopy::Problem& problem,
                           const LayoutCopy::Operands& operands) {
    const absl::Status status = copy_->Launch(problem, operands, stream());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  const LayoutCopy::Operands good = {data, data + 2048};
  EXPECT_THAT(message({.tag = "gfx942/denze", .extents = {16, 128}}, good),
              HasSubstr("no layout \"gfx942/denze\""));
  EXPECT_THAT(message({.tag = "gfx942/dense", .extents = {16, 100}}, good),
              HasSubstr("multiple of 128"));
  EXPECT_THAT(message({.tag = "gfx942/dense", .extents = {16}}, good), HasSubstr("2 axes"));
  EXPECT_THAT(message({.tag = "gfx942/dense", .parameter = 8, .extents = {16, 128}}, good),
              HasSubstr("parameter is 8, expected 0"));
  EXPECT_THAT(message({.tag = "gfx942/codes_tile_rounds", .extents = {16, 8}}, good),
              HasSubstr("expected the size of blocks"));
  EXPECT_THAT(message({.tag = "gfx942/dense", .extents = {16, 128}, .unit_bytes = 3}, good),
              HasSubstr("units of 3 bytes"));
  EXPECT_THAT(message({.tag = "gfx942/dense", .extents = {16, 128}}, {data, data + 8}),
              HasSubstr("gfx942/dense: memory is at 0x"));
  EXPECT_THAT(message({.tag = "gfx942/dense", .extents = {16, 128}, .unit_bytes = 4},
                      {data + 2, data + 2048}),
              HasSubstr("gfx942/dense: logical is at 0x"));
  EXPECT_THAT(message({.tag = "gfx942/dense", .extents = {16, 128}}, {nullptr, data}),
              HasSubstr("null pointer"));
  EXPECT_THAT(message({.tag = "plain", .extents = {1, int64_t{1} << 32}}, good),
              HasSubstr("each row of the layout owns"));
  EXPECT_TRUE(copy_->Launch({.tag = "gfx942/dense", .extents = {0, 128}}, {}, stream()).ok());
}

TEST(LayoutMove, ParametersBecomeAxes) {
  constexpr Pattern kInner =
      SplitAtParameters(Pattern("x row(head chunk:n dim:16) -> x chunk head dim"));
  static_assert(kInner.axes == 3 && kInner.factor[1].axis == 1 && kInner.factor[2].axis == 2);
  static_assert(kInner.factor[2].IsOpen() && kInner.factor[3].axis == 2);
  // An outermost factor begins its axis anyway.
  constexpr Pattern kOutermost = SplitAtParameters(Pattern("k(block:n r:4) row -> row block r"));
  static_assert(kOutermost.axes == 2 && kOutermost.factor[0].axis == 0);
  static_assert(kOutermost.factor[0].IsOpen() && kOutermost.factor[2].axis == 1);
  constexpr Pattern kTwo = SplitAtParameters(Pattern("row(a b:n c:m) -> a b c"));
  static_assert(kTwo.axes == 3 && kTwo.factor[1].axis == 1 && kTwo.factor[2].axis == 2);
}

// A tensor of 385 experts of 4096 x 7168 e2m1 is above 2^32 bytes: where each launch begins, by the
// bound layout's own arithmetic, without the memory.
TEST(LayoutPlan, SlicesOfTensorsAbove4GiB) {
  struct Large {
    const char* tag;
    std::vector<int64_t> extents;
  };
  for (const Large& large : {Large{"gfx942/fp4_tile_major", {int64_t{385} * 4096, 3584}},
                             Large{"gfx942/fp4_lane_major", {int64_t{385} * 4096, 3616}},
                             Large{"gfx942/gate_up_interleave", {385, 2, 2048, 3584}},
                             Large{"gfx942/dense", {int64_t{1} << 20, 8192}}}) {
    SCOPED_TRACE(large.tag);
    const Layout& layout = *FindLayout(large.tag);
    const BoundLayout bound = *Bind(layout, large.extents);
    uint8_t* const logical = reinterpret_cast<uint8_t*>(uintptr_t{1} << 40);
    uint8_t* const memory = reinterpret_cast<uint8_t*>(uintptr_t{1} << 41);
    const auto moves = PlanMoves(layout, bound, 1, logical, memory, int64_t{1} << 31);
    ASSERT_TRUE(moves.ok()) << moves.status();
    int64_t units = 0;
    for (const PlannedMove& each : *moves) {
      units += each.move.units;
      EXPECT_LE(each.move.units, uint32_t{1} << 31);
      std::vector<int64_t> coordinate(large.extents.size());
      bound.Coordinate(each.move.memory - memory, coordinate.data());
      EXPECT_EQ(bound.LogicalIndex(coordinate.data()), each.move.logical - logical);
    }
    EXPECT_EQ(units, bound.units());
    EXPECT_GT(units, int64_t{1} << 32);
    EXPECT_GE(moves->size(), 3u);
  }
}

TEST(LayoutPlan, WidthsFollowTheLayout) {
  const auto piece = [](const char* tag, std::vector<int64_t> extents, int64_t unit,
                        uintptr_t logical) {
    const Layout& layout = *FindLayout(tag);
    const BoundLayout bound = *Bind(layout, extents);
    const auto moves = PlanMoves(layout, bound, unit, reinterpret_cast<uint8_t*>(logical),
                                 reinterpret_cast<uint8_t*>(4096), int64_t{1} << 31);
    EXPECT_EQ(moves->front().move.wide, 1u) << tag;
    return 1 << moves->front().move.piece_shift;
  };
  EXPECT_EQ(piece("gfx942/dense", {32, 256}, 1, 4096), 8);
  EXPECT_EQ(piece("gfx942/dense", {32, 256}, 2, 4096), 16);
  EXPECT_EQ(piece("gfx942/dense", {32, 256}, 1, 4100), 4);
  EXPECT_EQ(piece("gfx942/dense_chunk_q", {32, 256}, 1, 4096), 1);
  EXPECT_EQ(piece("gfx942/fp4_tile_major", {32, 288}, 1, 4096), 4);
  EXPECT_EQ(piece("aiter/shuffle_weight_16x16", {32, 64}, 1, 4096), 16);
  EXPECT_EQ(piece("gfx942/gate_up_interleave", {2, 2, 3, 24}, 1, 4096), 8);
  EXPECT_EQ(piece("plain", {3, 32}, 1, 4096), 16);
}

TEST(LayoutCopyCost, EachByteOnceEachWay) {
  const LaunchCost cost =
      *LayoutCopy::Cost({.tag = "gfx942/fp4_tile_major", .extents = {32, 288}, .unit_bytes = 1});
  EXPECT_EQ(cost.activation_bytes, 32 * 288);
  EXPECT_EQ(cost.output_bytes, 32 * 288);
  EXPECT_EQ(cost.launches, 2);  // the remainder's too
  EXPECT_FALSE(LayoutCopy::Cost({.tag = "nothing", .extents = {}}).ok());
}

INSTANTIATE_TEST_SUITE_P(Chips, LayoutCopyTest, testing::ValuesIn(Chips()), LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip
