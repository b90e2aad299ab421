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

TEST(RunTest, MistakesOnTheCommandLineAreStatus2) {
  ExpectSays(RunKernel("Doubles --grid 2,x"), 2,
             "--grid: '2,x': expected X, X,Y or X,Y,Z, each from 1 to 2^32 - 1");
  ExpectSays(RunKernel("Doubles --block 0"), 2, "--block: '0': expected X, X,Y or X,Y,Z");
  ExpectSays(RunKernel("Doubles --arch gfx90a"), 2, "--arch: 'gfx90a': expected gfx942 or gfx950");
  ExpectSays(RunKernel("Doubles --checks everything"), 2, "unknown check \"everything\"");
  ExpectSays(RunKernel("Doubles --timeout -1"), 2,
             "--timeout: '-1': expected a whole number from 0 to 86400");
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
