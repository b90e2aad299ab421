// The catalogue's lanes against what the sources of its layouts say of their loads.

#include <cstdint>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "layouts/bind.h"
#include "layouts/bound_lanes.h"
#include "layouts/catalogue.h"

namespace lanewise {
namespace {

// What the sources say of their loads, each formula written out by hand: the address of a lane's
// load in its tile, and the coordinate of each unit in it.
struct Documented {
  std::string_view tag;
  std::vector<std::int64_t> extents;
  std::int64_t loads, load_units;
  std::int64_t (*address)(std::int64_t lane, std::int64_t load);
  std::int64_t (*row)(std::int64_t lane, std::int64_t load, std::int64_t unit);
  std::int64_t (*column)(std::int64_t lane, std::int64_t load, std::int64_t unit);
};

std::vector<Documented> DocumentedLoads() {
  using I = std::int64_t;
  return {
      // Lane 16 j + r takes row r's 8-byte chunks K 32 b + 8 j .. + 8 as two 16-byte halves, blocks
      // 0 and 1, then 2 and 3; the 2 KiB of a step hold the lanes' first halves, then the second.
      {"gfx942/dense",
       {16, 384},
       6,
       16,
       [](I lane, I load) { return load / 2 * 2048 + load % 2 * 1024 + 16 * lane; },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I load, I unit) {
         return load / 2 * 128 + 32 * (load % 2 * 2 + unit / 8) + 8 * (lane / 16) + unit % 8;
       }},
      // The same with the even K of each chunk before the odd.
      {"gfx942/dense_chunk_q",
       {16, 256},
       4,
       16,
       [](I lane, I load) { return load / 2 * 2048 + load % 2 * 1024 + 16 * lane; },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I load, I unit) {
         const I in_chunk = unit % 8 < 4 ? 2 * (unit % 8) : 2 * (unit % 8 - 4) + 1;
         return load / 2 * 128 + 32 * (load % 2 * 2 + unit / 8) + 8 * (lane / 16) + in_chunk;
       }},
      // Lane group j reads the codes of its rows 4 j .. 4 j + 3 with two 16-byte loads.
      {"gfx942/codes_tile_rounds",
       {16, 24},
       6,
       16,
       [](I lane, I load) { return load / 2 * 128 + 4 * 8 * (lane / 16) + 16 * (load % 2); },
       [](I lane, I load, I unit) { return 4 * (lane / 16) + load % 2 * 2 + unit / 8; },
       [](I, I load, I unit) { return load / 2 * 8 + unit % 8; }},
      // Lane group j's four dwords of a 64-byte step, of row r, at bytes 16 j .. + 15.
      {"gfx942/fp4_lane_major",
       {16, 192},
       3,
       16,
       [](I lane, I load) { return lane % 16 * 192 + load * 64 + 16 * (lane / 16); },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I load, I unit) { return load * 64 + unit / 4 * 16 + lane / 16 * 4 + unit % 4; }},
      // The 64 lanes' 16 bytes of a step in lane order.
      {"gfx942/fp4_tile_major",
       {16, 192},
       3,
       16,
       [](I lane, I load) { return load * 1024 + 16 * lane; },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I load, I unit) { return load * 64 + unit / 4 * 16 + lane / 16 * 4 + unit % 4; }},
      // A last 32-byte step with 8 bytes a lane.
      {"gfx942/fp4_tile_major",
       {16, 32},
       1,
       8,
       [](I lane, I) { return 8 * lane; },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I, I unit) { return unit / 4 * 16 + lane / 16 * 4 + unit % 4; }},
      // base = row_group (2 K) + 4 lane dwords, + 256 a step; lane l's 16 bytes hold row l % 16,
      // K 32 (l / 16) .. + 32.
      {"aiter/shuffle_weight_16x16",
       {16, 192},
       3,
       16,
       [](I lane, I load) { return 4 * (256 * load + 4 * lane); },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I load, I unit) { return (128 * load + 32 * (lane / 16)) / 2 + unit; }},
      // Lane l's dword at (r32 C8 + st / 2) 64 + l; byte (st % 2) 2 + row_group % 2 of it is the
      // code of step st, K block 4 st + l / 16.
      {"aiter/e8m0_shuffle",
       {32, 24},
       3,
       4,
       [](I lane, I load) { return 4 * (64 * load + lane); },
       [](I lane, I, I unit) { return 16 * (unit % 2) + lane % 16; },
       [](I lane, I load, I unit) { return 4 * (2 * load + unit / 2) + lane / 16; }},
      // The matrix core's operands: all units of a lane together.
      {"mfma/gfx942_16x16x32_fp8",
       {16, 32},
       1,
       8,
       [](I lane, I) { return 8 * lane; },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I, I unit) { return 8 * (lane / 16) + unit; }},
      {"mfma/gfx942_32x32x16_fp8",
       {32, 16},
       1,
       8,
       [](I lane, I) { return 8 * lane; },
       [](I lane, I, I) { return lane % 32; },
       [](I lane, I, I unit) { return 8 * (lane / 32) + unit; }},
      {"mfma/gfx942_16x16x16_bf16",
       {16, 16},
       1,
       4,
       [](I lane, I) { return 4 * lane; },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I, I unit) { return 4 * (lane / 16) + unit; }},
      {"mfma/gfx942_32x32x8_bf16",
       {32, 8},
       1,
       4,
       [](I lane, I) { return 4 * lane; },
       [](I lane, I, I) { return lane % 32; },
       [](I lane, I, I unit) { return 4 * (lane / 32) + unit; }},
      {"mfma/gfx950_16x16x32_bf16",
       {16, 32},
       1,
       8,
       [](I lane, I) { return 8 * lane; },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I, I unit) { return 8 * (lane / 16) + unit; }},
      {"mfma/gfx950_16x16x128_fp8",
       {16, 128},
       1,
       32,
       [](I lane, I) { return 32 * lane; },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I, I unit) { return 64 * (unit / 16) + 16 * (lane / 16) + unit % 16; }},
      {"mfma/gfx950_16x16x128_fp4",
       {16, 128},
       1,
       32,
       [](I lane, I) { return 32 * lane; },
       [](I lane, I, I) { return lane % 16; },
       [](I lane, I, I unit) { return 32 * (lane / 16) + unit; }},
      {"mfma/gfx950_32x32x64_fp8",
       {32, 64},
       1,
       32,
       [](I lane, I) { return 32 * lane; },
       [](I lane, I, I) { return lane % 32; },
       [](I lane, I, I unit) { return 32 * (unit / 16) + 16 * (lane / 32) + unit % 16; }},
      {"mfma/gfx950_32x32x64_fp4",
       {32, 64},
       1,
       32,
       [](I lane, I) { return 32 * lane; },
       [](I lane, I, I) { return lane % 32; },
       [](I lane, I, I unit) { return 32 * (lane / 32) + unit; }},
      {"mfma/d_16x16",
       {16, 16},
       1,
       4,
       [](I lane, I) { return 4 * lane; },
       [](I lane, I, I unit) { return 4 * (lane / 16) + unit; },
       [](I lane, I, I) { return lane % 16; }},
      {"mfma/d_32x32",
       {32, 32},
       1,
       16,
       [](I lane, I) { return 16 * lane; },
       [](I lane, I, I unit) { return 8 * (unit / 4) + 4 * (lane / 32) + unit % 4; },
       [](I lane, I, I) { return lane % 32; }},
  };
}

TEST(DocumentedLoads, LoadWhatTheirSourcesSay) {
  for (const Documented& documented : DocumentedLoads()) {
    SCOPED_TRACE(documented.tag);
    const Layout layout = FindLayout(documented.tag)->WithParameter("blocks", 8);
    const auto bound = Bind(layout, documented.extents);
    ASSERT_TRUE(bound.ok()) << bound.status();
    const auto lanes = BindLanes(layout, *bound);
    ASSERT_TRUE(lanes.ok()) << lanes.status();
    ASSERT_EQ(lanes->readings().size(), 1u);
    const BoundLanes::Reading& reading = lanes->readings()[0];
    ASSERT_EQ(reading.tiles, 1);
    ASSERT_EQ(reading.loads, documented.loads);
    ASSERT_EQ(reading.load_units, documented.load_units);
    for (LanePlace place = {reading.is_remainder}; place.lane < 64; ++place.lane) {
      for (place.load = 0; place.load < reading.loads; ++place.load) {
        for (place.unit = 0; place.unit < reading.load_units; ++place.unit) {
          const std::int64_t offset = lanes->Offset(place);
          ASSERT_EQ(offset, documented.address(place.lane, place.load) + place.unit)
              << "lane " << place.lane << " load " << place.load;
          std::int64_t coordinate[2];
          bound->Coordinate(offset, coordinate);
          ASSERT_EQ(coordinate[0], documented.row(place.lane, place.load, place.unit))
              << "lane " << place.lane << " load " << place.load << " unit " << place.unit;
          ASSERT_EQ(coordinate[1], documented.column(place.lane, place.load, place.unit))
              << "lane " << place.lane << " load " << place.load << " unit " << place.unit;
        }
      }
    }
  }
}

TEST(DocumentedLoads, EveryCatalogueEntryWithLanesIsAmongThese) {
  for (const Layout& layout : kCatalogue) {
    bool found = false;
    for (const Documented& documented : DocumentedLoads()) found |= documented.tag == layout.tag;
    EXPECT_EQ(found, layout.HasLanes()) << layout.tag;
    EXPECT_EQ(layout.HasLanes() && layout.HasRemainder(), layout.remainder_lanes.parts > 0)
        << layout.tag;
  }
}

}  // namespace
}  // namespace lanewise
