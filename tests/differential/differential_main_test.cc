// What a test of a backend says of a mistake in how it is started: none may pass as a run.

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace {

std::string host_path;

struct Result {
  int status = -1;
  std::string output;
};

// No case runs: it is about what comes before them.
Result Start(const std::string& environment, const std::string& arguments) {
  Result result;
  const std::string command = "env -u XML_OUTPUT_FILE -u LANEWISE_NIGHTLY -u LANEWISE_SEED " +
                              environment + " " + host_path + " --gtest_filter=none " + arguments +
                              " 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) result.output += buffer.data();
  result.status = WEXITSTATUS(pclose(pipe));
  return result;
}

void ExpectSays(const Result& result, int status, const std::string& says) {
  EXPECT_EQ(result.status, status) << result.output;
  EXPECT_NE(result.output.find(says), std::string::npos)
      << "expected \"" << says << "\", got " << result.output;
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

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  host_path = argv[1];
  return RUN_ALL_TESTS();
}
