// SIGKILL at random moments: what a killed command leaves is complete, correct files and nothing
// else, and going on gives what an uninterrupted run gives.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Of every command. In a nightly run 200 for each.
int Kills() { return std::getenv("LANEWISE_NIGHTLY") == nullptr ? 9 : 200; }

std::uint64_t Seed() {
  const char* const given = std::getenv("LANEWISE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

using Files = std::map<std::string, std::string>;

// Where a file replaces another one, or the file system knows no files without a name, it has this
// name for a moment; no reader takes it for part of a checkpoint.
bool IsTemporary(const std::string& name) {
  return name.starts_with(".lanewise-") && name.ends_with(".tmp");
}

Files Contents(const std::string& directory) {
  Files files;
  if (!fs::is_directory(directory)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = fs::relative(entry.path(), directory).string();
    if (entry.is_regular_file() && !IsTemporary(name)) files[name] = ReadAll(entry.path().string());
  }
  return files;
}

// Runs the command and kills it after `delay`. True where it was still running then.
bool RunAndKill(const std::vector<std::string>& arguments, Seconds delay) {
  const int status = InterruptLanewise(arguments, SIGKILL, static_cast<int>(1e6 * delay.count()));
  EXPECT_TRUE(status == 0 || status == 128 + SIGKILL) << arguments[0] << ": " << status;
  return status != 0;
}

struct Command {
  std::string name;
  // Its arguments, but for the output directory, which comes last.
  std::vector<std::string> arguments;
  std::string go_on;  // the flag that goes on where a killed run left files
  bool prepares = false;
};

class KillTest : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    directory_ = new std::string(testing::TempDir() + "/kill");
    fs::remove_all(*directory_);
    fs::create_directories(*directory_);
    const auto run = [](const std::vector<std::string>& arguments) {
      const Ran ran = RunLanewise(arguments);
      ASSERT_EQ(ran.status, 0) << Text(ran);
    };
    // Several files each, of several MB, in which experts are joined across files.
    run(Arguments(Synthesis(), Path("mx")));
    run({"synthesize", "--model", "gpt-oss-20b", "--layers", "2", "--experts", "2", "--size",
         "vocab=64", "--size", "hidden=128", "--size", "inter=128", "--size", "heads=16",
         "--shard-size", "300KB", Path("float")});
    run({"prepare", Path("mx"), "--target", "gfx942", "--lossless", Path("prepared")});
    run({"verify", Path("prepared"), "--against", Path("mx")});
  }
  static void TearDownTestSuite() {
    fs::remove_all(*directory_);
    delete directory_;
  }

  static std::string Path(const std::string& name) { return *directory_ + "/" + name; }

  static std::vector<std::string> Synthesis() {
    return {"synthesize",   "--model",    "deepseek-v4.1-flash",
            "--layers",     "1",          "--experts",
            "16",           "--size",     "vocab=64",
            "--size",       "hidden=256", "--size",
            "inter=128",    "--size",     "heads=8",
            "--size",       "groups=1",   "--size",
            "o_rank=128",   "--size",     "q_rank=128",
            "--shard-size", "300KB"};
  }

  static std::vector<std::string> Arguments(std::vector<std::string> arguments,
                                            const std::string& out, const std::string& flag = "") {
    arguments.push_back(out);
    if (!flag.empty()) arguments.push_back(flag);
    return arguments;
  }

  static Command Named(const std::string& name) {
    const std::vector<Command> commands = {
        {"prepare", {"prepare", Path("mx"), "--target", "gfx942", "--lossless"}, "--resume", true},
        {"restore", {"restore", Path("prepared")}, "--resume"},
        {"quantize", {"quantize", Path("float")}, "--resume"},
        {"synthesize", Synthesis(), "--overwrite"},
    };
    for (const Command& command : commands) {
      if (command.name == name) return command;
    }
    return {};
  }

 private:
  static std::string* directory_;
};

std::string* KillTest::directory_ = nullptr;

// Every file that is there is one of `whole`, byte for byte. The index comes after all others.
void ExpectCompleteFiles(const std::string& out, const Files& whole, const std::string& when) {
  const Files left = Contents(out);
  for (const auto& [name, bytes] : left) {
    const auto found = whole.find(name);
    ASSERT_NE(found, whole.end()) << when << ": " << name << " is left behind";
    ASSERT_TRUE(bytes == found->second) << when << ": " << name << " has " << bytes.size()
                                        << " bytes that are not those of an uninterrupted run";
  }
  if (left.contains("model.safetensors.index.json")) {
    ASSERT_EQ(left.size(), whole.size()) << when << ": an index, but not all of its files";
  }
}

TEST_P(KillTest, LeavesCompleteFilesOrNoneAndGoesOn) {
  const Command command = Named(GetParam());
  const std::string reference = Path(command.name + "-whole"), out = Path(command.name + "-killed");
  // The second time all that it reads and runs is in the cache, as when it is killed.
  Seconds duration(0);
  for (int i = 0; i < 2; ++i) {
    fs::remove_all(reference);
    const Clock::time_point begin = Clock::now();
    const Ran ran = RunLanewise(Arguments(command.arguments, reference));
    ASSERT_EQ(ran.status, 0) << Text(ran);
    duration = Clock::now() - begin;
  }
  const Files whole = Contents(reference);
  ASSERT_GE(whole.size(), 4u);

  const std::uint64_t seed = Seed();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> moment(0, 1.1);
  int kills = 0, none = 0, some = 0, all = 0, rounds = 0;
  while (kills < Kills()) {
    fs::remove_all(out);
    // A first run, and now and then ones that go on after it, all of them killed.
    std::string flag;
    do {
      const double at = moment(random);
      const std::string when = command.name + " killed after " + std::to_string(at) +
                               " of its time, LANEWISE_SEED=" + std::to_string(seed);
      if (!RunAndKill(Arguments(command.arguments, out, flag), at * duration)) ++all;
      ++kills;
      ExpectCompleteFiles(out, whole, when);
      if (HasFatalFailure()) return;
      const std::size_t left = Contents(out).size();
      ++(left == 0 ? none : some);
      flag = command.go_on;
    } while (kills < Kills() && random() % 3 == 0);
    const Ran finished = RunLanewise(Arguments(command.arguments, out, command.go_on));
    ASSERT_EQ(finished.status, 0) << Text(finished) << "LANEWISE_SEED=" << seed;
    ASSERT_TRUE(Contents(out) == whole)
        << Text(finished) << "not what an uninterrupted run gives; LANEWISE_SEED=" << seed;
    ++rounds;
  }
  if (command.prepares) {
    const Ran verified = RunLanewise({"verify", out, "--against", Path("mx")});
    EXPECT_EQ(verified.status, 0) << Text(verified);
  }
  std::cout << command.name << ": " << kills << " kills in " << rounds << " rounds, " << none
            << " left no file, " << some << " some or all, " << all
            << " came after its end; LANEWISE_SEED=" << seed << std::endl;
  EXPECT_LT(all, kills) << "no kill met a running command";
  fs::remove_all(out);
  fs::remove_all(reference);
}

INSTANTIATE_TEST_SUITE_P(Commands, KillTest,
                         testing::Values("prepare", "restore", "quantize", "synthesize"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lanewise
