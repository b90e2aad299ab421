// What `check` says where an own function or kernel does not come to an end, and of mistakes on its
// command line. (The examples' test has those of descriptions.)

#include <cstdlib>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/programs/run_program.h"

namespace lanewise {
namespace {

std::string check_path, library_path, code_object_path;

Ran Check(const std::string& arguments) { return RunShell(check_path + " " + arguments); }

std::string Write(const std::string& text) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/own.json";
  std::ofstream(path) << text;
  return path;
}

std::string WithFunction(const std::string& function, const std::string& number = "\"A\"") {
  return Write(R"({"operation": "pack/plain", "library": ")" + library_path +
               R"(", "function": ")" + function + R"(", "arguments": ["in", "out", {"i64": )" +
               number + R"(}], "where": {"unit": "1"}})");
}

std::string WithKernel(const std::string& arch, const std::string& kernel,
                       const std::string& grid = "1") {
  return Write(R"({"operation": "dequantize/e4m3fn_to_f32", "code_object": ")" + code_object_path +
               R"(", "arch": ")" + arch + R"(", "kernel": ")" + kernel + R"(", "grid": [)" + grid +
               R"(], "block": [64], "arguments": ["elements"]})");
}

TEST(Check, ACrashNamesTheCaseAndHowToRepeatIt) {
  const std::string json = WithFunction("crashes");
  const Ran result = Check("--kernel " + json);
  ExpectSays(result, 1, "it crashes: an access to memory that is not there (SIGSEGV)");
  ExpectSays(result, 1,
             "again: ./bazelw run //tests/differential:check -- --case 'host/pack/plain.");
  ExpectSays(result, 1, "--kernel " + json);
}

TEST(Check, WhatNeverEndsIsEnded) {
  ExpectSays(Check("--timeout 1 --kernel " + WithFunction("never_ends")), 1,
             "it still runs after 1 s (--timeout)");
}

TEST(Check, WhatEndsTheProcessIsSaid) {
  for (const char* const function : {"exits", "exits_quickly"}) {
    const std::string json = WithFunction(function);
    const Ran result = Check("--kernel " + json);
    ExpectSays(result, 1, "host/pack/plain.");
    ExpectSays(result, 1, "it ends the process (exit)");
    ExpectSays(result, 1,
               "again: ./bazelw run //tests/differential:check -- --case 'host/pack/plain.");
    ExpectSays(result, 1, "--kernel " + json);
  }
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

TEST(Check, ExpressionsAreCheckedWithTheOperationsShapes) {
  // K = 1 is no shape of the operation, so that K / 32 is 0 for none.
  ExpectSays(Check("--kernel " + WithKernel("gfx942", "Other", "\"ceil(M, K / 32) * (K / 32)\"")),
             2, "field 'kernel': no kernel Other");
  ExpectSays(Check("--kernel " + WithKernel("gfx942", "Other", "\"M / (K - K)\"")), 2,
             "field 'grid': 'M / (K - K)', character 12: division by 0");
  ExpectSays(Check("--kernel " + WithFunction("refuses", "-1")), 1, "the function returns 7");
  ExpectSays(Check("--kernel " + WithFunction("refuses", "1.5")), 2,
             "field 'arguments[2]': expected an expression or a number, found 1.5");
}

TEST(Check, AFieldThatIsThereTwiceIsRefused) {
  ExpectSays(Check("--kernel " + WithKernel("gfx942\", \"arch\": \"gfx950", "Other")), 2,
             "field 'arch': is there twice");
  ExpectSays(Check("--kernel " + WithFunction("refuses", R"(1, "i64": 2)")), 2,
             "field 'i64': is there twice");
  // The same key of two objects is none.
  ExpectSays(Check("--kernel " + WithFunction("refuses", R"(1}, {"i64": 2)")), 1,
             "the function returns 7");
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
  ExpectSays(Check("--seed 18446744073709551616 --list"), 2,
             "'18446744073709551616': expected a whole number below 2^64");
  ExpectSays(Check("--operation ''"), 2, "--operation: is empty");
  ExpectSays(Check("--most-failures x --list"), 2,
             "--most-failures: 'x': expected a whole number from 0 to 2147483647");
  ExpectSays(Check("--seed -1 --list"), 2, "'-1': expected a whole number below 2^64");
  ExpectSays(Check("--timeout -1 --list"), 2,
             "--timeout: '-1': expected a whole number from 0 to 86400");
}

TEST(Check, AKindOfDataThatTheOperationLacksIsAMistakeOfTheCommandLine) {
  const Ran result = Check("--operation pack/gfx942/dense --data normal");
  ExpectSays(result, 2, "--data 'normal': pack/gfx942/dense has iota, random bits");
  EXPECT_EQ(result.err.find("failed"), std::string::npos) << Text(result);
}

TEST(Check, WhatContradictsTheCaseOrTheKernelIsRefused) {
  const std::string one_case =
      "--case 'host/pack/gfx942/dense.A=16,B=128,unit=1,by=packer' --data iota ";
  ExpectSays(Check(one_case), 0, "1 case, 1 with their kinds of data, seed 1: all right");
  ExpectSays(Check(one_case + "--backend host"), 0, "all right");
  ExpectSays(Check(one_case + "--backend emulator_gfx942"), 2,
             "--backend 'emulator_gfx942': --case says 'host'");
  ExpectSays(Check(one_case + "--operation pack/plain"), 2,
             "--operation 'pack/plain': --case says 'pack/gfx942/dense'");
  ExpectSays(Check(one_case + "--shapes A=16"), 2, "--shapes 'A=16': --case says 'A=16,B=128,");
  const std::string json = WithFunction("refuses");
  ExpectSays(Check("--backend emulator_gfx942 --kernel " + json), 2,
             "backend 'emulator_gfx942': what " + json + " describes runs on host");
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 4) return 2;
  const std::string here = std::string(std::getenv("PWD")) + "/";
  lanewise::check_path = argv[1];
  lanewise::library_path = here + argv[2];
  lanewise::code_object_path = here + argv[3];
  return RUN_ALL_TESTS();
}
