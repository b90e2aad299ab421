// Real checkpoints through inspect, prepare, verify and restore. They are not part of this
// repository: LANEWISE_DATA names the directory that holds them. What is not there has no case, and
// is named on stdout.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"

namespace lanewise {
namespace {

class RealDataTest : public testing::Test {
 public:
  RealDataTest(std::string in, std::string target)
      : in_(std::move(in)), target_(std::move(target)) {}

  void TestBody() override {
    const TestDirectory directory;
    const std::string out = directory.File("prepared.safetensors");
    const std::string back = directory.File("back.safetensors");
    const Ran inspected = RunLanewise({"inspect", in_});
    ASSERT_EQ(inspected.status, 0) << Text(inspected);
    const Ran prepared = RunLanewise({"prepare", in_, out, "--target", target_, "--lossless"});
    ASSERT_EQ(prepared.status, 0) << Text(prepared);
    const Ran verified = RunLanewise({"verify", out, "--against", in_});
    ASSERT_EQ(verified.status, 0) << Text(verified);
    const Ran inspected_out = RunLanewise({"inspect", out});
    ASSERT_EQ(inspected_out.status, 0) << Text(inspected_out);
    const Ran restored = RunLanewise({"restore", out, back});
    ASSERT_EQ(restored.status, 0) << Text(restored);
    EXPECT_TRUE(ReadAll(in_) == ReadAll(back)) << "the restored file differs";
  }

 private:
  const std::string in_;
  const std::string target_;
};

const char* DataDirectory() { return std::getenv("LANEWISE_DATA"); }

// A directory that is given and does not exist is a mistake, not an absence.
TEST(RealDataDirectoryTest, IsThereIfGiven) {
  if (DataDirectory() == nullptr) return;
  EXPECT_TRUE(std::filesystem::is_directory(DataDirectory()))
      << "LANEWISE_DATA is " << DataDirectory();
}

void RegisterCases() {
  const char* data = DataDirectory();
  for (const char* name : {"real_fp8", "silero_vad_16k"}) {
    const std::string path = data == nullptr ? "" : std::string(data) + "/" + name + ".safetensors";
    if (path.empty() || !std::filesystem::exists(path)) {
      std::printf(
          "NOTE: %s.safetensors is not here (LANEWISE_DATA is %s): its cases are left out\n", name,
          data == nullptr ? "not set" : data);
      continue;
    }
    for (const char* target : {"gfx942", "gfx950", "flashmla"}) {
      const std::string test = std::string(name) + "_" + target;
      testing::RegisterTest("RealDataTest", test.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [=]() -> RealDataTest* { return new RealDataTest(path, target); });
    }
  }
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lanewise::RegisterCases();
  return RUN_ALL_TESTS();
}
