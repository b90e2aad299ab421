#include "layouts/lanes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "layouts/bind.h"
#include "layouts/bound_lanes.h"
#include "layouts/catalogue.h"
#include "layouts/lane_index.h"
#include "layouts/test_shapes.h"

namespace lanewise {
namespace {

// Text as a template argument, so that "does this literal compile?" is a question code can ask.
template <std::size_t kLength>
struct Literal {
  char text[kLength];
  consteval Literal(const char (&from)[kLength]) { std::copy_n(from, kLength, text); }  // NOLINT
};
template <Literal kText>
concept Compiles = requires { typename std::integral_constant<int, Lanes(kText.text).parts>; };

static_assert(Compiles<"lane(group:4 r:16) load(step half) byte(block byte)">);
static_assert(Compiles<"lane() byte()">);
static_assert(!Compiles<"">);
static_assert(!Compiles<"load(step) byte(byte)">);
static_assert(!Compiles<"lane(r) load(step)">);
static_assert(!Compiles<"lane(r) byte(byte) load(step)">);
static_assert(!Compiles<"lane(r:0) byte(byte)">);
static_assert(!Compiles<"lane(r byte(byte)">);
static_assert(!Compiles<"lane r byte(byte)">);
static_assert(!Compiles<"lane(R) byte(byte)">);

struct Faulty {
  std::string_view text;
  PatternFault fault;
  int position;
};

TEST(Lanes, NamesTheFaultOfATextAndItsPlace) {
  for (const Faulty& faulty : {
           Faulty{"", PatternFault::kLaneSectionExpected, 0},
           Faulty{"load(a) byte(b)", PatternFault::kLaneSectionExpected, 0},
           Faulty{"lane(a) load(b)", PatternFault::kUnitSectionExpected, 15},
           Faulty{"lane(a) byte(b) load(c)", PatternFault::kTextBehindTheLanes, 16},
           Faulty{"lane(a:) byte(b)", PatternFault::kSizeExpected, 7},
           Faulty{"lane(a:0) byte(b)", PatternFault::kSizeNotPositive, 7},
           Faulty{"lane(a:99999999999) byte(b)", PatternFault::kSizeTooLarge, 7},
           Faulty{"lane(7) byte(b)", PatternFault::kNameExpected, 5},
           Faulty{"lane(a byte(b)", PatternFault::kUnbalancedParenthesis, 0},
           Faulty{"lane a byte(b)", PatternFault::kUnbalancedParenthesis, 4},
           Faulty{"lane(a b c d e f g h i j k l m) byte(n)", PatternFault::kTooManyFactors, 29},
       }) {
    const LanesParse parse = ParseLanes(faulty.text);
    EXPECT_EQ(parse.fault, faulty.fault) << faulty.text;
    EXPECT_EQ(parse.position, faulty.position) << faulty.text;
    EXPECT_FALSE(ParseLanesText(faulty.text).ok()) << faulty.text;
  }
}

TEST(Lanes, NamesWhatDoesNotFitThePattern) {
  constexpr Pattern kPattern = "row(tile r:16) k(step byte:8) -> tile step r byte";
  struct Case {
    Lanes lanes;
    PatternFault fault;
    std::string_view name;
  };
  for (const Case& wrong : {
           Case{"lane(r) load(stride) byte(byte)", PatternFault::kNotAFactorOfThePattern, "stride"},
           Case{"lane(r column) load(step) byte(byte)", PatternFault::kNotAFactorOfThePattern,
                "column"},
           Case{"lane(r r) load(step) byte(byte)", PatternFault::kTwoPartsWithoutSize, "r"},
           Case{"lane(r:3) load(step) byte(byte)", PatternFault::kPartsDoNotDivideTheFactor, "r"},
           Case{"lane(r:32) load(step) byte(byte)", PatternFault::kPartsDoNotDivideTheFactor, "r"},
           Case{"lane(tile r) load(step) byte(byte)", PatternFault::kOpenFactorInLaneOrUnit,
                "tile"},
           Case{"lane(r) byte(step byte)", PatternFault::kOpenFactorInLaneOrUnit, "step"},
           Case{"lane(tile:4 r) byte(byte)", PatternFault::kTileInsideALoad, "step"},
           Case{"lane(r) load(step) byte(byte:4)", PatternFault::kTileInsideALoad, "byte"},
           Case{"lane(byte) load(step) byte(r)", PatternFault::kLoadNotContiguous, "r"},
           Case{"lane() load(step) byte(byte r)", PatternFault::kLoadNotContiguous, "r"},
       }) {
    const LaneFit fit = FitLanes(kPattern, wrong.lanes);
    EXPECT_EQ(fit.fault, wrong.fault) << LanesText(wrong.lanes);
    EXPECT_EQ(fit.name.view(), wrong.name) << LanesText(wrong.lanes);
  }
}

TEST(Lanes, TextIsReadBackAsTheSameLanes) {
  for (const Layout& layout : kCatalogue) {
    if (!layout.HasLanes()) continue;
    const std::string text = LanesText(layout.lanes);
    const auto again = ParseLanesText(text);
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    EXPECT_EQ(LanesText(*again), text);
  }
  EXPECT_EQ(LanesText(CatalogueLayout("gfx942/dense").lanes),
            "lane(group:4 r:16) load(step half) byte(block byte)");
}

// All tiles by lanes by loads by units hit every unit once, or once for each lane that shares it,
// and At finds them again.
TEST(Lanes, ReadEveryUnitOfEveryCatalogueCase) {
  std::int64_t units = 0;
  for (const BoundCase& test : CatalogueCases()) {
    if (!test.layout.HasLanes() || test.bound.units() == 0) continue;
    const auto lanes = BindLanes(test.layout, test.bound);
    if (!lanes.ok()) {
      // Extents that fill no wave.
      ASSERT_TRUE(test.layout.tag == "gfx942/fp4_lane_major" ||
                  test.layout.tag == "aiter/shuffle_weight_16x16" ||
                  test.layout.tag == "gfx942/codes_tile_rounds")
          << test.name << ": " << lanes.status();
      continue;
    }
    SCOPED_TRACE(test.name);
    std::vector<std::int64_t> readers(test.bound.units(), 0);
    for (const BoundLanes::Reading& reading : lanes->readings()) {
      ASSERT_EQ(reading.lanes, 64);
      LanePlace place;
      place.is_remainder = reading.is_remainder;
      for (place.tile = 0; place.tile < reading.tiles; ++place.tile) {
        for (place.lane = 0; place.lane < reading.lanes; ++place.lane) {
          for (place.load = 0; place.load < reading.loads; ++place.load) {
            for (place.unit = 0; place.unit < reading.load_units; ++place.unit) {
              const std::int64_t offset = lanes->Offset(place);
              ASSERT_GE(offset, 0);
              ASSERT_LT(offset, test.bound.units());
              ++readers[offset];
              LanePlace found = lanes->At(offset);
              ASSERT_EQ(lanes->Offset(found), offset);
              ASSERT_LE(found.lane, place.lane);
              if (reading.shared == 1) {
                ASSERT_EQ(found.lane, place.lane);
              }
              found.lane = place.lane;
              ASSERT_EQ(found, place) << "at offset " << offset;
            }
          }
        }
      }
    }
    for (std::int64_t offset = 0; offset < test.bound.units(); ++offset) {
      const LanePlace place = lanes->At(offset);
      ASSERT_EQ(readers[offset], lanes->ReadingOf(place.is_remainder).shared) << offset;
    }
    units += test.bound.units();
  }
  EXPECT_GT(units, 200'000);
}

// ---- what is known when a kernel is compiled ----

using Dense = LaneIndex<CatalogueLayout("gfx942/dense").lane_pattern()>;
static_assert(Dense::kLanes == 64 && Dense::kLoadBytes == 16 && Dense::kWaveLoadBytes == 1024);
static_assert(Dense::kIsWithoutGap && Dense::LinesPerLoad() == 8);

// 1 KiB without a gap is 8 lines; the same load in the lane-major order takes 16.
using TileMajor = LaneIndex<CatalogueLayout("gfx942/fp4_tile_major").lane_pattern()>;
using TileMajorEnd = LaneIndex<CatalogueLayout("gfx942/fp4_tile_major").remainder_lane_pattern()>;
using LaneMajor = LaneIndex<CatalogueLayout("gfx942/fp4_lane_major").lane_pattern()>;
static_assert(TileMajor::kIsWithoutGap && TileMajor::LinesPerLoad() == 8);
static_assert(TileMajorEnd::kLoadBytes == 8 && TileMajorEnd::kWaveLoadBytes == 512);
static_assert(TileMajorEnd::kIsWithoutGap && TileMajorEnd::LinesPerLoad() == 4);
static_assert(LaneMajor::NeedsExtents() && !LaneMajor::kIsWithoutGap);
static_assert(LaneMajor::LinesPerLoad({16, 3584}) == 16);

// A lane group's 16 lanes share a load, and the four of them meet in one line.
using Codes = LaneIndex<
    CatalogueLayout("gfx942/codes_tile_rounds").WithParameter("blocks", 8).lane_pattern()>;
static_assert(Codes::kLoadBytes == 16 && Codes::kWaveLoadBytes == 64);
static_assert(!Codes::kIsWithoutGap && Codes::LinesPerLoad() == 1);

// Of bits: 64 lanes by 32 nibbles.
using Fp4Operand = LaneIndex<CatalogueLayout("mfma/gfx950_16x16x128_fp4").lane_pattern()>;
static_assert(Fp4Operand::kLoadUnits == 32 && Fp4Operand::kLoadBytes == 16);
static_assert(Fp4Operand::kWaveLoadBytes == 1024);

// Factors that are no powers of two, and a lane that has parts of one factor on both sides.
inline constexpr LanePattern kOdd = {
    "row(tile r:6) k(step group:5 byte:3) -> tile step group r byte",
    "lane(group r:3) load(step r:2) byte(byte)"};
using Odd = LaneIndex<kOdd>;
static_assert(Odd::kLanes == 15 && Odd::kLoadBytes == 3 && !Odd::kIsWithoutGap);

// Offset against BoundLanes, for two tiles of `extents`, a multiple of the tile in each axis.
template <LanePattern kLanePattern, bool kIsRemainder = false>
void ExpectTheOffsetsOf(const Layout& layout, const std::vector<std::int64_t>& extents) {
  using Index = LaneIndex<kLanePattern>;
  SCOPED_TRACE(layout.tag);
  const auto bound = Bind(layout, extents);
  ASSERT_TRUE(bound.ok()) << bound.status();
  const auto lanes = BindLanes(layout, *bound);
  ASSERT_TRUE(lanes.ok()) << lanes.status();
  const BoundLanes::Reading& reading = lanes->ReadingOf(kIsRemainder);
  ASSERT_EQ(reading.is_remainder, kIsRemainder);
  ASSERT_EQ(Index::kLanes, reading.lanes);
  ASSERT_EQ(Index::kLoadUnits, reading.load_units);
  ASSERT_EQ(Index::kIsWithoutGap, reading.is_without_gap);
  std::vector<std::int64_t> load_sizes;
  for (int i = 0; i < reading.fit.digits; ++i) {
    if (reading.fit.digit[i].role == LaneRole::kLoad) {
      load_sizes.push_back(reading.fit.digit[i].size);
    }
  }
  std::uint32_t of_axis[Index::kAxes];
  for (int axis = 0; axis < Index::kAxes; ++axis) of_axis[axis] = extents[axis];
  for (LanePlace place = {kIsRemainder}; place.tile < reading.tiles; ++place.tile) {
    const std::int64_t tile = lanes->Offset({kIsRemainder, place.tile});
    for (place.lane = 0; place.lane < reading.lanes; ++place.lane) {
      for (place.load = 0; place.load < reading.loads; ++place.load) {
        std::uint32_t load[Index::kLoadFactors > 0 ? Index::kLoadFactors : 1] = {};
        std::int64_t rest = place.load;
        for (int i = Index::kLoadFactors - 1; i >= 0; --i) {
          load[i] = rest % load_sizes[i];
          rest /= load_sizes[i];
        }
        const auto lane = static_cast<std::uint32_t>(place.lane);
        ASSERT_EQ(tile + Index::template Offset<std::uint32_t>(lane, load, of_axis),
                  lanes->Offset(place))
            << "tile " << place.tile << " lane " << place.lane << " load " << place.load;
        if constexpr (!Index::NeedsExtents()) {
          ASSERT_EQ(tile + Index::template Offset<std::uint32_t>(lane, load), lanes->Offset(place))
              << "tile " << place.tile << " lane " << place.lane << " load " << place.load;
        }
      }
    }
  }
}

TEST(LaneIndex, OffsetsAreThoseOfTheBoundLayout) {
  constexpr const Layout& kDense = CatalogueLayout("gfx942/dense");
  ExpectTheOffsetsOf<kDense.lane_pattern()>(kDense, {32, 384});
  constexpr const Layout& kChunkQ = CatalogueLayout("gfx942/dense_chunk_q");
  ExpectTheOffsetsOf<kChunkQ.lane_pattern()>(kChunkQ, {32, 256});
  constexpr const Layout& kTile = CatalogueLayout("gfx942/fp4_tile_major");
  ExpectTheOffsetsOf<kTile.lane_pattern()>(kTile, {48, 192});
  ExpectTheOffsetsOf<kTile.lane_pattern()>(kTile, {48, 160});
  ExpectTheOffsetsOf<kTile.remainder_lane_pattern(), true>(kTile, {48, 160});
  constexpr const Layout& kLane = CatalogueLayout("gfx942/fp4_lane_major");
  ExpectTheOffsetsOf<kLane.lane_pattern()>(kLane, {48, 192});
  constexpr Layout kCodes = CatalogueLayout("gfx942/codes_tile_rounds").WithParameter("blocks", 8);
  ExpectTheOffsetsOf<kCodes.lane_pattern()>(kCodes, {32, 40});
  constexpr Layout kThree = CatalogueLayout("gfx942/codes_tile_rounds").WithParameter("blocks", 3);
  ExpectTheOffsetsOf<kThree.lane_pattern()>(kThree, {32, 9});
  constexpr const Layout& kWeight = CatalogueLayout("aiter/shuffle_weight_16x16");
  ExpectTheOffsetsOf<kWeight.lane_pattern()>(kWeight, {48, 192});
  constexpr const Layout& kShuffle = CatalogueLayout("aiter/e8m0_shuffle");
  ExpectTheOffsetsOf<kShuffle.lane_pattern()>(kShuffle, {96, 24});
  constexpr const Layout& kResult = CatalogueLayout("mfma/d_32x32");
  ExpectTheOffsetsOf<kResult.lane_pattern()>(kResult, {32, 32});
  ExpectTheOffsetsOf<kOdd>({.tag = "odd", .main = kOdd.pattern, .lanes = kOdd.lanes}, {18, 60});
}

TEST(BoundLanes, SayWhoReadsAByte) {
  const Layout& dense = CatalogueLayout("gfx942/dense");
  const auto bound = Bind(dense, std::vector<std::int64_t>{64, 256});
  ASSERT_TRUE(bound.ok());
  const auto lanes = BindLanes(dense, *bound);
  ASSERT_TRUE(lanes.ok()) << lanes.status();
  // [3, 77] is at 1333: half 1 of step 0, lane group 77 % 32 / 8 = 1, row 3, block 2, byte 5.
  EXPECT_EQ(lanes->At(1333), (LanePlace{false, 0, 19, 1, 5}));
  EXPECT_EQ(lanes->LinesPerLoad({}, 128), 8);
  EXPECT_EQ(lanes->LanesWith({false, 0, 19, 1, 0}), (std::vector<std::int64_t>{19}));

  const Layout codes = CatalogueLayout("gfx942/codes_tile_rounds").WithParameter("blocks", 8);
  const auto bound_codes = Bind(codes, std::vector<std::int64_t>{16, 8});
  ASSERT_TRUE(bound_codes.ok());
  const auto code_lanes = BindLanes(codes, *bound_codes);
  ASSERT_TRUE(code_lanes.ok()) << code_lanes.status();
  const std::vector<std::int64_t> sharing = code_lanes->LanesWith(code_lanes->At(8 * 7));
  EXPECT_EQ(sharing.size(), 16u);  // row 7 is of lane group 1
  EXPECT_EQ(sharing.front(), 16);
  EXPECT_EQ(sharing.back(), 31);
}

TEST(BoundLanes, RefuseWhatFillsNoWaveOrHasNoLanes) {
  const Layout& lane_major = CatalogueLayout("gfx942/fp4_lane_major");
  const auto bound = Bind(lane_major, std::vector<std::int64_t>{24, 64});
  ASSERT_TRUE(bound.ok());
  const auto lanes = BindLanes(lane_major, *bound);
  ASSERT_FALSE(lanes.ok());
  EXPECT_NE(
      lanes.status().ToString().find("take 16 values of row at a time: the extents give it 24"),
      std::string::npos)
      << lanes.status();
  const Layout& plain = CatalogueLayout("plain");
  const auto rows = Bind(plain, std::vector<std::int64_t>{3, 4});
  ASSERT_TRUE(rows.ok());
  EXPECT_FALSE(BindLanes(plain, *rows).ok());
}

}  // namespace
}  // namespace lanewise
