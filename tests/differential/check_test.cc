// What `check` says where an own function or kernel does not come to an end, and of mistakes on its
// command line. (The examples' test has those of descriptions.)

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace {

std::string check_path, library_path, code_object_path;

struct Result {
  int status = -1;
  std::string output;
};

Result Check(const std::string& arguments) {
  Result result;
  std::FILE* const pipe = popen((check_path + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) result.output += buffer.data();
  result.status = WEXITSTATUS(pclose(pipe));
  return result;
}

std::string Write(const std::string& text) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/own.json";
  std::ofstream(path) << text;
  return path;
}

std::string WithFunction(const std::string& function) {
  return Write(R"({"operation": "pack/plain", "library": ")" + library_path +
               R"(", "function": ")" + function +
               R"(", "arguments": ["in", "out", {"i64": "A"}], "where": {"unit": "1"}})");
}

std::string WithKernel(const std::string& arch, const std::string& kernel) {
  return Write(R"({"operation": "dequantize/e4m3fn_to_f32", "code_object": ")" + code_object_path +
               R"(", "arch": ")" + arch + R"(", "kernel": ")" + kernel +
               R"(", "grid": [1], "block": [64], "arguments": ["elements"]})");
}

void ExpectSays(const Result& result, int status, const std::string& says) {
  EXPECT_EQ(result.status, status) << result.output;
  EXPECT_NE(result.output.find(says), std::string::npos)
      << "expected \"" << says << "\", got " << result.output;
}

TEST(Check, ACrashNamesTheCaseAndHowToRepeatIt) {
  const std::string json = WithFunction("crashes");
  const Result result = Check("--kernel " + json);
  ExpectSays(result, 1, "it crashes: an access to memory that is not there (SIGSEGV)");
  ExpectSays(result, 1,
             "again: ./bazelw run //tests/differential:check -- --case 'host/pack/plain.");
  ExpectSays(result, 1, "--kernel " + json);
}

TEST(Check, WhatNeverEndsIsEnded) {
  ExpectSays(Check("--timeout 1 --kernel " + WithFunction("never_ends")), 1,
             "it still runs after 1 s (--timeout)");
}

TEST(Check, ARefusalIsReportedWithItsNumber) {
  ExpectSays(Check("--kernel " + WithFunction("refuses")), 1, "the function returns 7");
}

TEST(Check, MistakesOfADescriptionComeBeforeTheCases) {
  ExpectSays(Check("--kernel " + WithFunction("is_not_there")), 2,
             "field 'function': " + library_path + ": undefined symbol: is_not_there");
  ExpectSays(Check("--kernel " + WithKernel("gfx942", "Other")), 2,
             "field 'kernel': no kernel Other; there are: ");
  ExpectSays(Check("--kernel " + WithKernel("gfx90a", "Other")), 2,
             "field 'arch': is gfx90a, the emulator has gfx942 and gfx950");
}

TEST(Check, MistakesOnTheCommandLineSayWhatThereIs) {
  ExpectSays(Check(""), 2, "say which operation: --operation, --case, or --kernel");
  ExpectSays(Check("--operation dequantize/e4m3fn_to_f3"), 2,
             "there are dequantize/e4m3fn_to_f32 (--list names all)");
  ExpectSays(Check("--operation dequantize/e4m3fn_to_f32 --backend host"), 2,
             "no implementation for host; it runs on emulator_gfx942, emulator_gfx950, gpu");
  ExpectSays(Check("--operation pack/plain --backend emulator_gfx90"), 2,
             "there is no backend 'emulator_gfx90'; the emulator has gfx942 and gfx950");
  ExpectSays(Check("--operation pack/plain --data nothing"), 2, "expected one of random bits");
  ExpectSays(Check("--case nothing"), 2, "expected backend/operation.shape");
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 4) return 2;
  const std::string here = std::string(std::getenv("PWD")) + "/";
  check_path = argv[1];
  library_path = here + argv[2];
  code_object_path = here + argv[3];
  return RUN_ALL_TESTS();
}
