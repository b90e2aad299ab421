// --resume of prepare and restore: what is complete and right is kept, the rest is made, and in the
// end it is what one run writes.

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tests/tools/families.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSecond = "/model-00002-of-00004.safetensors";

class ResumeTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(in_);
    ASSERT_TRUE(DividingDeepseek().WriteSharded(in_, 4).ok());
    for (const std::string& name : Tree(in_)) {
      fs::last_write_time(in_ + "/" + name,
                          fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
    const Ran ran = Prepare({"--lossless"});
    ASSERT_EQ(ran.status, 0) << Text(ran);
    fs::copy(out_, whole_);
  }

  Ran Prepare(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"prepare", in_, out_, "--target", "gfx942"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunLanewise(arguments);
  }

  void ExpectWhole() const {
    ASSERT_EQ(Tree(out_), Tree(whole_));
    for (const std::string& name : Tree(whole_)) {
      EXPECT_TRUE(ReadAll(out_ + "/" + name) == ReadAll(whole_ + "/" + name)) << name;
    }
  }

  const TestDirectory directory_;
  const std::string in_ = directory_.File("model"), out_ = directory_.File("out"),
                    whole_ = directory_.File("whole");
};

TEST_F(ResumeTest, RefusesAnIndexThatIsNoFile) {
  const std::string index = out_ + "/model.safetensors.index.json";
  fs::remove(index);
  fs::create_directory(index);
  const Ran directory = Prepare({"--lossless", "--resume"});
  EXPECT_EQ(directory.status, 1) << Text(directory);
  EXPECT_NE(directory.err.find(index), std::string::npos) << Text(directory);
  fs::remove(index);
  ASSERT_EQ(mkfifo(index.c_str(), 0600), 0);
  const Ran pipe = Prepare({"--lossless", "--resume"});
  EXPECT_EQ(pipe.status, 1) << Text(pipe);
  EXPECT_NE(pipe.err.find(index), std::string::npos) << Text(pipe);
}

TEST_F(ResumeTest, KeepsWhatIsThere) {
  const auto kept = fs::last_write_time(out_ + "/model-00001-of-00004.safetensors");
  fs::remove(out_ + kSecond);
  fs::remove(out_ + "/model.safetensors.index.json");
  const Ran refused = Prepare({"--lossless"});
  EXPECT_EQ(refused.status, 1) << Text(refused);
  const Ran ran = Prepare({"--lossless", "--resume"});
  EXPECT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("of 4 files 1 written, 3 kept"), std::string::npos) << Text(ran);
  EXPECT_EQ(fs::last_write_time(out_ + "/model-00001-of-00004.safetensors"), kept);
  ExpectWhole();
  const Ran again = Prepare({"--lossless", "--resume"});
  EXPECT_EQ(again.status, 0) << Text(again);
  EXPECT_NE(again.out.find("0 written, 4 kept"), std::string::npos) << Text(again);
  ExpectWhole();
}

TEST_F(ResumeTest, WithNothingThereIsAnOrdinaryRun) {
  fs::remove_all(out_);
  const Ran ran = Prepare({"--lossless", "--resume"});
  EXPECT_EQ(ran.status, 0) << Text(ran);
  ExpectWhole();
}

// Of another run: refused with the reason, and replaced where the user says so.
TEST_F(ResumeTest, RefusesWhatIsNotTheSame) {
  const struct {
    std::vector<std::string> options;
    const char* reason;
  } kCases[] = {
      {{}, "index"},
      {{"--lossless", "--pass-through"}, "lanewise.x.options"},
      {{"--lossless", "--recipe", "none"}, "recipe"},
  };
  for (const auto& one : kCases) {
    std::vector<std::string> options = one.options;
    options.push_back("--resume");
    const Ran ran = Prepare(options);
    EXPECT_EQ(ran.status, 1) << Text(ran);
    EXPECT_NE(ran.err.find(one.reason), std::string::npos) << Text(ran);
    ExpectWhole();
  }
  const Ran ran =
      RunLanewise({"prepare", in_, out_, "--target", "gfx950", "--lossless", "--resume"});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  ExpectWhole();
}

TEST_F(ResumeTest, NoticesDamageAndAChangedSource) {
  const std::string second = out_ + kSecond;
  const std::string whole = ReadAll(second);
  const auto expect_replaced = [&](const std::string& reason) {
    const Ran refused = Prepare({"--lossless", "--resume"});
    EXPECT_EQ(refused.status, 1) << Text(refused);
    EXPECT_NE(refused.err.find(kSecond), std::string::npos) << Text(refused);
    EXPECT_NE(refused.err.find(reason), std::string::npos) << Text(refused);
    const Ran ran = Prepare({"--lossless", "--resume", "--overwrite"});
    EXPECT_EQ(ran.status, 0) << Text(ran);
    EXPECT_NE(ran.out.find("1 written, 3 kept"), std::string::npos) << Text(ran);
    ExpectWhole();
  };
  directory_.Write("out/" + std::string(kSecond), whole.substr(0, whole.size() - 1));
  expect_replaced("");
  std::string header = whole;
  header[100] ^= 1;
  directory_.Write("out/" + std::string(kSecond), header);
  expect_replaced("");
  // Its source is written again after it: the same bytes, but who knows.
  const std::string source = in_ + kSecond;
  fs::last_write_time(source, fs::last_write_time(second) + std::chrono::seconds(1));
  const Ran changed = Prepare({"--lossless", "--resume"});
  EXPECT_EQ(changed.status, 1) << Text(changed);
  EXPECT_NE(changed.err.find("changed after it was written"), std::string::npos) << Text(changed);
}

// Ends the command at some moment; whatever stands there then, --resume completes it.
TEST_F(ResumeTest, GoesOnAfterASignal) {
  for (const int signal : {SIGTERM, SIGINT, SIGKILL}) {
    for (int moment = 0; moment < 6; ++moment) {
      fs::remove_all(out_);
      const int status = InterruptLanewise(
          {"prepare", in_, out_, "--target", "gfx942", "--lossless"}, signal, 3000 * moment);
      if (fs::exists(out_)) {
        for (const std::string& name : Tree(out_)) {
          EXPECT_TRUE(ReadAll(out_ + "/" + name) == ReadAll(whole_ + "/" + name)) << name;
        }
      }
      EXPECT_TRUE(status == 0 || status == 128 + signal) << status;
      const Ran ran = Prepare({"--lossless", "--resume"});
      EXPECT_EQ(ran.status, 0) << Text(ran);
      ExpectWhole();
    }
  }
}

TEST_F(ResumeTest, RestoreKeepsWhatIsThere) {
  const std::string back = directory_.File("back");
  const std::vector<std::string> restore = {"restore", out_, back};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), restore.begin(), restore.end());
    return RunLanewise(more);
  };
  const auto expect_whole = [&] {
    for (const std::string& name : Tree(in_)) {
      if (!name.ends_with(".safetensors")) continue;
      EXPECT_TRUE(ReadAll(back + "/" + name) == ReadAll(in_ + "/" + name)) << name;
    }
  };
  ASSERT_EQ(run({}).status, 0);
  expect_whole();
  const std::vector<std::string> tree = Tree(back);
  fs::remove(back + kSecond);
  fs::remove(back + "/model.safetensors.index.json");
  const Ran refused = run({});
  EXPECT_EQ(refused.status, 1) << Text(refused);
  EXPECT_NE(refused.err.find("--resume"), std::string::npos) << Text(refused);
  const Ran ran = run({"--resume"});
  EXPECT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("of 4 files 1 written, 3 kept"), std::string::npos) << Text(ran);
  EXPECT_EQ(Tree(back), tree);
  expect_whole();
  // One byte, which no header tells.
  std::string second = ReadAll(back + kSecond);
  second.back() = static_cast<char>(second.back() ^ 1);
  directory_.Write("back/" + std::string(kSecond), second);
  const Ran damaged = run({"--resume"});
  EXPECT_EQ(damaged.status, 1) << Text(damaged);
  EXPECT_NE(damaged.err.find("digest"), std::string::npos) << Text(damaged);
  const Ran replaced = run({"--resume", "--overwrite"});
  EXPECT_EQ(replaced.status, 0) << Text(replaced);
  EXPECT_NE(replaced.out.find("1 written, 3 kept"), std::string::npos) << Text(replaced);
  expect_whole();
}

// Without the signs of zeros no digest tells: then header, size and time do.
TEST_F(ResumeTest, RestoreKeepsWhatCannotBeExact) {
  fs::remove_all(out_);
  ASSERT_EQ(Prepare({}).status, 0);
  const std::string back = directory_.File("back");
  ASSERT_EQ(RunLanewise({"restore", out_, back}).status, 0);
  fs::remove(back + kSecond);
  const Ran ran = RunLanewise({"restore", out_, back, "--resume"});
  EXPECT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("of 4 files 1 written, 3 kept"), std::string::npos) << Text(ran);
  EXPECT_NE(ran.out.find("whose sign was not stored"), std::string::npos) << Text(ran);
  const std::string prepared = out_ + kSecond;
  fs::last_write_time(prepared, fs::file_time_type::clock::now() + std::chrono::hours(1));
  const Ran changed = RunLanewise({"restore", out_, back, "--resume"});
  EXPECT_EQ(changed.status, 1) << Text(changed);
  EXPECT_NE(changed.err.find("changed after it was written"), std::string::npos) << Text(changed);
}

// A refusal in the last file takes back the files that were complete.
TEST_F(ResumeTest, ARefusedSourceLeavesNothing) {
  fs::remove_all(out_);
  const std::string last = in_ + "/model-00004-of-00004.safetensors";
  tools::CheckpointMaker maker = DividingDeepseek();
  for (tools::CheckpointMaker::Tensor& tensor : maker.tensors()) {
    if (tensor.spec.dtype == DType::kF8E4m3) tensor.bytes.back() = 0x7F;
  }
  ASSERT_TRUE(maker.WriteSharded(in_, 4).ok());
  const std::vector<std::string> before = Tree(directory_.path());
  const Ran ran = Prepare({});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  EXPECT_EQ(Tree(directory_.path()), before);
}

// What stood at OUT survives a refusal, also what --resume does not keep;
// what did not is not there.
TEST_F(ResumeTest, ARefusalLeavesWhatOverwriteWouldReplace) {
  tools::CheckpointMaker maker = DividingDeepseek();
  for (tools::CheckpointMaker::Tensor& tensor : maker.tensors()) {
    if (tensor.spec.dtype == DType::kF8E4m3) tensor.bytes.back() = 0x7F;
  }
  ASSERT_TRUE(maker.WriteSharded(in_, 4).ok());
  fs::remove(out_ + "/model-00001-of-00004.safetensors");
  fs::remove(whole_ + "/model-00001-of-00004.safetensors");
  for (const bool resume : {false, true}) {
    std::vector<std::string> options = {"--overwrite"};
    if (resume) options.push_back("--resume");
    const Ran ran = Prepare(options);
    EXPECT_EQ(ran.status, 1) << Text(ran);
    ExpectWhole();
  }
}

// With both, files that stand there are replaced, and the result is that of one run.
TEST_F(ResumeTest, OverwriteReplacesWhatResumeDoesNotKeep) {
  const Ran other = Prepare({"--overwrite"});  // without signs
  ASSERT_EQ(other.status, 0) << Text(other);
  fs::remove(out_ + "/model-00001-of-00004.safetensors");
  const Ran ran = Prepare({"--lossless", "--overwrite", "--resume"});
  ASSERT_EQ(ran.status, 0) << Text(ran);
  ExpectWhole();
}

}  // namespace
}  // namespace lanewise
