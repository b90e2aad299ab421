// The command line itself: exit status, --help, --version, and the layouts command.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tools/command.h"

namespace lanewise {
namespace {

TEST(UsageTest, HelpAndVersion) {
  const Ran version = RunLanewise({"--version"});
  EXPECT_EQ(version.status, 0) << Text(version);
  EXPECT_EQ(version.out.rfind("lanewise ", 0), 0u) << Text(version);
  const Ran help = RunLanewise({"--help"});
  EXPECT_EQ(help.status, 0) << Text(help);
  for (const char* command : {"prepare", "restore", "verify", "inspect", "layouts"}) {
    EXPECT_NE(help.out.find(command), std::string::npos) << Text(help);
    const Ran about = RunLanewise({command, "--help"});
    EXPECT_EQ(about.status, 0) << Text(about);
    EXPECT_GT(about.out.size(), 200u) << Text(about);
    EXPECT_EQ(about.err, "");
  }
}

TEST(UsageTest, WrongUsageIsStatus2) {
  const std::vector<std::vector<std::string>> kWrong = {
      {},
      {"frobnicate"},
      {"prepare"},
      {"prepare", "in"},
      {"prepare", "in", "out"},
      {"prepare", "in", "out", "--target", "gfx90a"},
      {"prepare", "in", "out", "--target", "gfx942", "--frob"},
      {"prepare", "in", "out", "--target", "gfx942", "--tp", "0"},
      {"prepare", "in", "out", "--target", "gfx942", "--tp", "x"},
      {"prepare", "in", "out", "--target", "gfx942", "--tp", "2", "--rank", "2"},
      {"prepare", "in", "out", "--target", "gfx942", "--rank", "-1"},
      {"prepare", "in", "out", "--target", "gfx942", "--batch-invariant"},
      {"prepare", "in", "out", "--target", "gfx942", "--memory", "much"},
      {"prepare", "in", "", "--target", "gfx942"},
      {"prepare", "", "out", "--target", "gfx942"},
      {"quantize", "in", ""},
      {"dequantize", "in", ""},
      {"restore", "in", ""},
      {"synthesize", "", "--model", "gpt-oss-20b"},
      {"quantize", "in", "out", "--smallest-code", "2"},
      {"quantize", "in", "out", "--shard", "2/2"},
      {"prepare", "in", "out", "--target", "gfx942", "--threads", "-1"},
      {"synthesize", "out", "--model", "gpt-oss-20b", "--seed", "-1"},
      {"synthesize", "out", "--model", "gpt-oss-20b", "--layers", "0"},
      {"restore", "in"},
      {"verify"},
      {"verify", "in", "--against"},
      {"inspect"},
      {"layouts", "--byte", "-1"},
  };
  for (const auto& arguments : kWrong) {
    const Ran ran = RunLanewise(arguments);
    EXPECT_EQ(ran.status, 2) << Text(ran);
    EXPECT_NE(ran.err, "") << Text(ran);
    EXPECT_EQ(ran.out, "") << Text(ran);
  }
}

TEST(UsageTest, SizesOfShardsAreDecimalOrNot) {
  for (const char* size : {"1.5GiB", "300KB", "5GB", "7Gi", "1000000"}) {
    const Ran ran = RunLanewise({"synthesize", "out", "--model", "gpt-oss-20b", "--layers", "1",
                                 "--dry-run", "--shard-size", size});
    EXPECT_EQ(ran.status, 0) << Text(ran);
  }
}

// What a name holds does not reach the terminal.
TEST(UsageTest, BytesThatAreNoTextAreEscaped) {
  const Ran ran = RunLanewise({"verify", "/nonexistent/\xFF\x1B[1m\xC3\xA9"});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  EXPECT_NE(ran.err.find("\\xFF\\x1B[1m\xC3\xA9"), std::string::npos) << Text(ran);
}

TEST(UsageTest, RefusalsAreStatus1) {
  const std::vector<std::vector<std::string>> kRefused = {
      {"prepare", "/nonexistent/in", "/nonexistent/out", "--target", "gfx942"},
      {"restore", "/nonexistent/in", "/nonexistent/out"},
      {"verify", "/nonexistent/in"},
      {"inspect", "/nonexistent/in"},
      {"layouts", "no/such/layout"},
      {"layouts", "gfx942/dense", "--shape", "63,256"},
      {"layouts", "gfx942/dense", "--at", "row=1,k=1"},
      {"layouts", "gfx942/dense", "--shape", "64,256", "--at", "row=64,k=1"},
      {"layouts", "gfx942/dense", "--shape", "64,256", "--at", "column=1"},
      {"layouts", "gfx942/dense", "--shape", "64,256", "--byte", "16384"},
      {"layouts", "flashmla/q_fused", "--shape", "64,256"},
  };
  for (const auto& arguments : kRefused) {
    const Ran ran = RunLanewise(arguments);
    EXPECT_EQ(ran.status, 1) << Text(ran);
    EXPECT_EQ(ran.err.rfind("lanewise " + arguments[0] + ": ", 0), 0u) << Text(ran);
  }
}

TEST(LayoutsTest, ListsEveryLayoutThatPreparedFilesCarry) {
  const Ran ran = RunLanewise({"layouts"});
  ASSERT_EQ(ran.status, 0) << Text(ran);
  for (const char* layout :
       {"gfx942/dense", "gfx942/dense_chunk_q", "gfx942/dense_codes", "gfx942/fp4_lane_major",
        "gfx942/fp4_tile_major", "gfx942/codes_tile_rounds", "gfx942/row_codes",
        "aiter/shuffle_weight_16x16", "aiter/e8m0_shuffle", "flashmla/q_fused", "flashmla/o_fused",
        "flashmla/o_fused_chunk", "plain"}) {
    EXPECT_NE(ran.out.find(std::string(layout) + " "), std::string::npos) << layout;
  }
}

// Offsets by the formulas of the seeds, worked out by hand.
TEST(LayoutsTest, Coordinates) {
  const struct {
    const char* layout;
    const char* shape;
    const char* at;
    std::vector<std::string> more;
    const char* offset;
  } kCases[] = {
      // (tile steps + step) 2048 + 1024 half + 256 j + 16 r + 8 block + byte
      {"gfx942/dense", "64,256", "row=3,k=77", {}, "offset 1333 "},
      {"gfx942/dense", "64,256", "row=37,k=200", {}, "offset 11600 "},
      // tile 16 K/2 + 1024 s + 256 j + 16 r + 4 i + b of byte 16 i + 4 j + b: k = 77 is byte 38,
      // the
      // high nibble of i = 2, j = 1, b = 2
      {"gfx942/fp4_tile_major", "32,64", "row=19,k=77", {}, "offset 1338, high nibble"},
      // the last 32 bytes a row: 1024 + 128 j + 8 r + 4 i + b of byte 64 + 16 + 4 * 3 + 1
      {"gfx942/fp4_tile_major", "16,96", "row=2,byte=93", {}, "offset 1429 "},
      // 16 t C + 16 blocks round + blocks r + c
      {"gfx942/codes_tile_rounds", "32,16", "row=18,k=11", {"--param", "blocks=8"}, "offset 403 "},
      // (n/16) 16 Kb + (b/16) 256 + (n % 16) 16 + b % 16
      {"aiter/shuffle_weight_16x16", "32,64", "row=17,byte=35", {}, "offset 1555 "},
      // ((((m/32)(C/8) + c/8) 4 + c % 4) 16 + m % 16) 4 + ((c % 8)/4) 2 + (m/16) % 2
      {"aiter/e8m0_shuffle", "64,16", "row=49,k=13", {}, "offset 839 "},
  };
  for (const auto& one : kCases) {
    std::vector<std::string> arguments = {"layouts", one.layout, "--shape",
                                          one.shape, "--at",     one.at};
    arguments.insert(arguments.end(), one.more.begin(), one.more.end());
    const Ran ran = RunLanewise(arguments);
    EXPECT_EQ(ran.status, 0) << Text(ran);
    EXPECT_NE(ran.out.find(one.offset), std::string::npos) << one.offset << "\n" << Text(ran);
  }
}

TEST(LayoutsTest, Bytes) {
  const Ran ran = RunLanewise({"layouts", "gfx942/dense", "--shape", "64,256", "--byte", "11600"});
  ASSERT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("row = 37, k = 200"), std::string::npos) << Text(ran);
}

}  // namespace
}  // namespace lanewise
