// What a test of a backend says of a mistake in how it is started: none may pass as a run.

#include <string>

#include "gtest/gtest.h"
#include "tests/programs/run_program.h"

namespace lanewise {
namespace {

std::string host_path;

// No case runs: it is about what comes before them.
Ran Start(const std::string& environment, const std::string& arguments) {
  return RunShell("env -u XML_OUTPUT_FILE -u LANEWISE_NIGHTLY -u LANEWISE_SEED " + environment +
                  " " + host_path + " --gtest_filter=none " + arguments);
}

TEST(DifferentialMain, ABackendThatThereIsNotFails) {
  ExpectSays(Start("", "--backend=hots"), 2,
             "there is no backend 'hots'; there are host, emulator_gfx942, emulator_gfx950 and "
             "gpu");
  ExpectSays(Start("", "--backend="), 2, "there is no backend ''");
  ExpectSays(Start("", "hots"), 2, "unknown argument 'hots'");
}

TEST(DifferentialMain, ASeedIsAWholeNumber) {
  for (const std::string seed : {"abc", "", "-1", "1.5", "7x", "18446744073709551616"}) {
    ExpectSays(Start("LANEWISE_SEED=" + seed, ""), 2,
               "LANEWISE_SEED '" + seed + "': expected a whole number below 2^64");
  }
  ExpectSays(Start("LANEWISE_SEED=18446744073709551615", ""), 0, "seed 18446744073709551615");
}

TEST(DifferentialMain, MinutesAreANumber) {
  for (const std::string minutes : {"ten", "", "-1", "nan", "inf", "10m"}) {
    ExpectSays(Start("LANEWISE_MINUTES=" + minutes, ""), 2,
               "LANEWISE_MINUTES '" + minutes + "': expected a number from 0 to 10080");
  }
  ExpectSays(Start("LANEWISE_MINUTES=0.5", ""), 0, "seed 1");
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  lanewise::host_path = argv[1];
  return RUN_ALL_TESTS();
}
