// The command `run`: what it computes, and what it says of mistakes and of kernels that never end.

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "tests/programs/run_program.h"

namespace lanewise {
namespace {

std::string run_path, code_object_path;

Ran RunKernel(const std::string& arguments) {
  return RunShell("'" + run_path + "' '" + code_object_path + "' " + arguments,
                  std::getenv("TEST_TMPDIR"));
}

std::string File(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

// 128 numbers, which Doubles takes as two workgroups of 64.
void WriteInput() {
  std::ofstream out(File("in.bin"), std::ios::binary);
  for (std::uint32_t i = 0; i < 128; ++i) out.write(reinterpret_cast<const char*>(&i), sizeof(i));
}

constexpr char kDoubles[] = "Doubles in:in.bin out:out.bin:512 --grid 2 ";

TEST(RunTest, AKernelReadsAndWritesFiles) {
  WriteInput();
  const Ran ran = RunKernel(std::string(kDoubles) + "--counts");
  ExpectSays(ran, 0, "workgroups: 2\nwaves: 2\n");
  std::ifstream in(File("out.bin"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  ASSERT_EQ(bytes.size(), 512u);
  for (std::uint32_t i = 0; i < 128; ++i) {
    std::uint32_t value = 0;
    bytes.copy(reinterpret_cast<char*>(&value), sizeof(value), i * sizeof(value));
    EXPECT_EQ(value, 2 * i);
  }
}

TEST(RunTest, ATraceIsOfAWaveThatThereIs) {
  WriteInput();
  ExpectSays(RunKernel(std::string(kDoubles) + "--trace 1,0"), 0, "s_endpgm");
  ExpectSays(RunKernel(std::string(kDoubles) + "--trace 2,0"), 1,
             "--trace 2,0: the launch has workgroups 0 to 1 (x fastest), each of waves 0 to 0");
  ExpectSays(RunKernel(std::string(kDoubles) + "--trace 0,1"), 1, "each of waves 0 to 0");
  ExpectSays(RunKernel(std::string(kDoubles) + "--trace 0"), 2,
             "'0': expected WORKGROUP,WAVE, each from 0 to 2^32 - 1");
}

TEST(RunTest, WhatNeverEndsIsStoppedAndSaysWhereItWas) {
  const Ran ran = RunKernel("NeverEnds out:out.bin:4 --checks none --timeout 1");
  ExpectSays(ran, 1, "kernel NeverEnds, workgroup (0, 0, 0), wave 0, pc 0x");
  ExpectSays(ran, 1, "still runs after 1 s, the time limit of the launch");
}

std::string Words(const std::string& name) {
  std::ifstream in(File(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteZeros(const std::string& name, size_t count) {
  std::ofstream(File(name), std::ios::binary) << std::string(count, '\0');
}

// Turns are short enough that all 16 workgroups have cleared before the first adds. Turns of
// millions of instructions let workgroup 0 add before the others clear.
TEST(RunTest, WorkgroupsAreUnderWayTogether) {
  WriteZeros("sums.bin", 64);
  const std::string clears = "ClearsForOthers inout:sums.bin:out.bin --grid 16 --checks none ";
  ExpectSays(RunKernel(clears), 0, "");
  std::string expected;
  const float all = 16;
  for (int i = 0; i < 16; ++i) expected.append(reinterpret_cast<const char*>(&all), sizeof(all));
  EXPECT_EQ(Words("out.bin"), expected);
  ExpectSays(RunKernel(clears + "--group-turn 4194304 --turn 20000"), 0, "");
  EXPECT_NE(Words("out.bin"), expected);
}

TEST(RunTest, WhatDependsOnTheScheduleIsFound) {
  WriteInput();
  WriteZeros("counter.bin", 4);
  const std::string tickets = "TakesTickets inout:counter.bin:count.bin out:out.bin:64 --grid 16 ";
  ExpectSays(RunKernel(tickets), 0, "");
  ExpectSays(RunKernel(tickets + "--schedules 8"), 1,
             "kernel TakesTickets is schedule-dependent: byte ");
  ExpectSays(RunKernel(tickets + "--schedules 8"), 1, " of out:out.bin:64 is 0x");
  // The same seed is the same schedule.
  ExpectSays(RunKernel(tickets + "--seed 3"), 0, "");
  const std::string once = Words("out.bin");
  ExpectSays(RunKernel(tickets + "--seed 3"), 0, "");
  EXPECT_EQ(Words("out.bin"), once);
  ExpectSays(RunKernel(std::string(kDoubles) + "--schedules 8"), 0, "");
}

TEST(RunTest, AReportUnderARandomScheduleNamesTheSeed) {
  const Ran ran = RunKernel("NeverEnds out:out.bin:4 --checks none --timeout 1 --seed 5");
  ExpectSays(ran, 1, "(under the random schedule of seed 5)");
}

// 63 workgroups look at a flag that the last one sets. Each gives up its turn after one look.
TEST(RunTest, AWorkgroupThatPollsGivesUpItsTurn) {
  WriteZeros("flag.bin", 4);
  const Ran ran =
      RunKernel("WaitsForTheLast inout:flag.bin:f.bin out:out.bin:256 --grid 64 --counts");
  ExpectSays(ran, 0, "waves: 64\n");
  const size_t at = ran.out.find("branch: ");
  ASSERT_NE(at, std::string::npos) << ran.out;
  EXPECT_LT(std::atoi(ran.out.c_str() + at + 8), 64 * 16) << ran.out;
}

TEST(RunTest, MistakesOnTheCommandLineAreStatus2) {
  ExpectSays(RunKernel("Doubles --grid 2,x"), 2,
             "--grid: '2,x': expected X, X,Y or X,Y,Z, each from 1 to 2^32 - 1");
  ExpectSays(RunKernel("Doubles --block 0"), 2, "--block: '0': expected X, X,Y or X,Y,Z");
  ExpectSays(RunKernel("Doubles --arch gfx90a"), 2, "--arch: 'gfx90a': expected gfx942 or gfx950");
  ExpectSays(RunKernel("Doubles --checks everything"), 2, "unknown check \"everything\"");
  ExpectSays(RunKernel("Doubles --timeout -1"), 2,
             "--timeout: '-1': expected a whole number from 0 to 86400");
  ExpectSays(RunKernel("Doubles --turn 0"), 2, "--turn: '0': expected a whole number from 1 to");
  ExpectSays(RunKernel("Doubles --threads 4097"), 2, "expected a whole number from 0 to 4096");
}

TEST(RunTest, WhatIsNotThereIsNamed) {
  WriteInput();
  ExpectSays(RunKernel("Halves"), 1, "no kernel Halves; there are: ");
  ExpectSays(RunKernel("Doubles in:none.bin out:out.bin:512"), 1,
             "cannot open none.bin: No such file or directory");
  ExpectSays(RunKernel("Doubles in:in.bin"), 1, "kernel Doubles takes 2 arguments, not 1");
  ExpectSays(RunKernel("Doubles in:in.bin out:out.bin:512 --grid 3"), 1, "argument ");
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 2;
  const std::string here = std::string(std::getenv("PWD")) + "/";
  lanewise::run_path = here + argv[1];
  lanewise::code_object_path = here + argv[2];
  return RUN_ALL_TESTS();
}
