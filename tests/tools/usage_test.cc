// The command line itself: exit status, --help, --version, and the layouts command.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tools/command.h"

namespace lanewise {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

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
      {"layouts", "--byte", "99999999999999999999"},
      // Without NAME they would be ignored.
      {"layouts", "--shape", "64,256"},
      {"layouts", "--at", "row=1,k=1"},
      {"layouts", "--byte", "1"},
      {"layouts", "--param", "blocks=8"},
      {"layouts", "gfx942/dense", "--at", "row=1,k=1"},
      {"layouts", "gfx942/dense", "--byte", "1"},
      {"layouts", "gfx942/dense", "--shape", "64,x"},
      {"layouts", ""},
      {"quantize", "in", "out", "--max", "abc"},
      {"quantize", "in", "out", "--max", "449"},
      {"quantize", "in", "out", "--max", "240.5", "--format", "mxfp8-fnuz"},
      {"quantize", "in", "out", "--max", "0.25", "--format", "mxfp4"},
      {"quantize", "in", "out", "--amax-floor", "inf"},
      {"quantize", "in", "out", "--only", ""},
      {"inspect", "in", "--threads", "4097"},
      {"inspect", ""},
      {"verify", "in", "--against", ""},
      {"synthesize", "out", "--model", "gpt-oss-20b", "--size", "hidden=x"},
      {"synthesize", "out", "--model", "gpt-oss-20b", "--size", "hidden=1", "--size", "hidden=2"},
  };
  for (const auto& arguments : kWrong) {
    const Ran ran = RunLanewise(arguments);
    EXPECT_EQ(ran.status, 2) << Text(ran);
    EXPECT_NE(ran.err, "") << Text(ran);
    EXPECT_EQ(ran.out, "") << Text(ran);
  }
}

// What a message of wrong usage has to say: what was found and what it may be, in few words.
TEST(UsageTest, WrongUsageSaysWhatIsExpected) {
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } kCases[] = {
      {{"inspect", "in", "--threads", "-1"},
       "lanewise inspect: --threads: '-1': expected a whole number from 0 to 4096\n"},
      {{"prepare", "in", "out", "--target", "gfx90a"},
       "lanewise prepare: --target: 'gfx90a': expected gfx942, gfx950 or flashmla\n"},
      {{"quantize", "in", "out", "--max", "abc"},
       "--max: 'abc': expected a number of 0 or more that a float holds\n"},
      // Everything would become zero.
      {{"quantize", "in", "out", "--max", "1e-45"}, "expected from 0.001953125 to 448, the least "},
      {{"quantize", "in", "out", "--max", "1e-45", "--format", "mxfp4"}, "expected from 0.5 to 6,"},
      {{"synthesize", "out", "--model", "gpt-oss-20b", "--seed", "18446744073709551616"},
       "--seed: '18446744073709551616': expected a whole number below 2^64\n"},
      {{"layouts", "--byte", "-1"},
       "--byte: '-1': expected a whole number of 0 or more, below 2^63\n"},
      {{"prepare", "in", "out", "--target", "gfx942", "--memory", "0"},
       "--memory: '0': expected a size of 1 byte or more\n"},
      {{"prepar", "in"}, "lanewise: there is no command 'prepar'; did you mean prepare?\n"},
      {{"frobnicate"},
       "lanewise: there is no command 'frobnicate'\n  there are: prepare, restore,"},
      {{""}, "lanewise: there is no command ''\n"},
      {{"--frob"}, "lanewise: The following argument was not expected: --frob\n"},
      {{}, "Subcommands:"},
  };
  for (const auto& one : kCases) {
    const Ran ran = RunLanewise(one.arguments);
    EXPECT_EQ(ran.status, 2) << Text(ran);
    EXPECT_NE(ran.err.find(one.says), std::string::npos) << one.says << "\n" << Text(ran);
    EXPECT_EQ(ran.out, "") << Text(ran);
  }
}

// An option that may be given several times takes one value each time, not the paths behind it.
TEST(UsageTest, RepeatedOptionsTakeOneValueEach) {
  Ran ran = RunLanewise({"quantize", "--only", "a*", "--only", "b*", "/nonexistent/in", "out"});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  ran = RunLanewise({"layouts", "--shape", "64,256", "gfx942/dense"});
  EXPECT_EQ(ran.status, 0) << Text(ran);
}

TEST(UsageTest, TheLargestSeed) {
  const Ran ran = RunLanewise({"synthesize", "out", "--model", "gpt-oss-20b", "--layers", "1",
                               "--dry-run", "--seed", "18446744073709551615"});
  EXPECT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("seed 18446744073709551615;"), std::string::npos) << Text(ran);
  EXPECT_NE(ran.out.find(" tensors in 1 file, "), std::string::npos) << Text(ran);
}

TEST(UsageTest, SizesOfShardsAreDecimalOrNot) {
  for (const char* size : {"1.5GiB", "300KB", "5GB", "7Gi", "1000000"}) {
    const Ran ran = RunLanewise({"synthesize", "out", "--model", "gpt-oss-20b", "--layers", "1",
                                 "--dry-run", "--shard-size", size});
    EXPECT_EQ(ran.status, 0) << Text(ran);
  }
}

TEST(UsageTest, RefusalsAreStatus1) {
  const std::vector<std::vector<std::string>> kRefused = {
      {"prepare", "/nonexistent/in", "/nonexistent/out", "--target", "gfx942"},
      {"restore", "/nonexistent/in", "/nonexistent/out"},
      {"verify", "/nonexistent/in"},
      {"inspect", "/nonexistent/in"},
      {"layouts", "no/such/layout"},
      {"layouts", "gfx942/dense", "--shape", "63,256"},
      {"layouts", "gfx942/dense", "--shape", "64,256", "--at", "row=64,k=1"},
      {"layouts", "gfx942/dense", "--shape", "64"},
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
      // the high nibble of i = 2, j = 1, b = 2
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

TEST(LayoutsTest, MistakesNameTheAxis) {
  const struct {
    const char* layout;
    const char* at;
    const char* says;
  } kCases[] = {
      {"gfx942/dense", "row=64,k=1", "--at row=64 is outside of the array: expected 0 to 63"},
      {"gfx942/dense", "row=1,k=-1", "--at k=-1 is outside of the array: expected 0 to 255"},
      {"gfx942/dense", "row=1", "--at gives no k; expected a value for each of row, k"},
      {"gfx942/dense", "row=1,row=1", "--at gives row twice"},
      {"gfx942/dense", "column=1", "--at names 'column'; the axes of gfx942/dense are row, k"},
      {"gfx942/dense", "row=x", "--at 'row=x', 'x': expected a whole number"},
      {"gfx942/dense", "row", "--at 'row': expected NAME=VALUE"},
      // 256 bytes a row are 512 elements.
      {"gfx942/fp4_tile_major", "row=1,k=512",
       "--at k=512 is outside of the array: expected 0 to "
       "511"},
      {"gfx942/fp4_tile_major", "row=1,k=-1",
       "--at k=-1 is outside of the array: expected 0 to "
       "511"},
      {"gfx942/fp4_tile_major", "row=1,byte=256",
       "--at byte=256 is outside of the array: expected "
       "0 to 255"},
      {"gfx942/fp4_tile_major", "row=1,k=1,byte=0", "k and byte are one axis, two k to a byte"},
      {"gfx942/fp4_tile_major", "row=1", "--at gives no byte and no k"},
  };
  for (const auto& one : kCases) {
    const Ran ran = RunLanewise({"layouts", one.layout, "--shape", "64,256", "--at", one.at});
    EXPECT_EQ(ran.status, 1) << Text(ran);
    EXPECT_NE(ran.err.find(one.says), std::string::npos) << one.says << "\n" << Text(ran);
    EXPECT_EQ(ran.out, "") << Text(ran);
  }
  const Ran ran = RunLanewise({"layouts", "flashmla/q_fused", "--shape", "64,256"});
  EXPECT_NE(ran.err.find("--param chunks=N gives it one"), std::string::npos) << Text(ran);
}

TEST(LayoutsTest, Bytes) {
  const Ran ran = RunLanewise({"layouts", "gfx942/dense", "--shape", "64,256", "--byte", "11600"});
  ASSERT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("row = 37, k = 200"), std::string::npos) << Text(ran);
}

TEST(LayoutsTest, Pictures) {
  const std::string file = testing::TempDir() + "/picture.svg";
  std::filesystem::remove(file);
  Ran ran = RunLanewise({"layouts", "gfx942/dense", "--shape", "16,128", "--picture", file});
  ASSERT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find(file), std::string::npos) << Text(ran);
  const std::string chosen = Contents(file);
  // Row 3, k = 72 begins at 1328 = 1024 half + 256 group + 16 row (seed 000, dense_copy), which
  // lane 19 = 16 group + row takes with the second half's load.
  EXPECT_NE(chosen.find("tile=0 step=0 half=1 group=1 r=3 block=0 byte=0, lane 19 load 1: "
                        "offset 1328"),
            std::string::npos);
  ran = RunLanewise({"layouts", "gfx942/row_codes", "--picture", file});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  EXPECT_NE(ran.err.find("is there already; --overwrite"), std::string::npos) << Text(ran);
  EXPECT_EQ(Contents(file), chosen);
  // A layout with a parameter that was given no size has a picture of its own choice.
  ran = RunLanewise({"layouts", "flashmla/q_fused", "--picture", file, "--overwrite"});
  EXPECT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(Contents(file), chosen);
  ran = RunLanewise({"layouts", "gfx942/dense", "--shape", "4096,4096", "--picture", file});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  // A link to nothing has a name too.
  const std::string link = testing::TempDir() + "/link.svg";
  std::filesystem::remove(link);
  std::filesystem::create_symlink("nowhere", link);
  ran = RunLanewise({"layouts", "gfx942/row_codes", "--picture", link});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  ran = RunLanewise({"layouts", "--picture", file});
  EXPECT_EQ(ran.status, 2) << Text(ran);
}

}  // namespace
}  // namespace lanewise
