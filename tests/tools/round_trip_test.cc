// prepare, verify --against, restore: for every family and target the source comes back
// byte for byte.

#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tests/tools/families.h"

namespace lanewise {
namespace {

struct Case {
  std::string family;
  std::string target;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Family& family : Families()) {
    for (const std::string& target : family.targets) cases.push_back({family.name, target});
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return info.param.family + "_" + info.param.target;
}

class RoundTripTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const absl::Status status = FamilyNamed(GetParam().family).make().Write(in_);
    ASSERT_TRUE(status.ok()) << status;
  }

  std::vector<std::string> Prepare(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"prepare", in_, out_, "--target", GetParam().target};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  const TestDirectory directory_;
  const std::string in_ = directory_.File("model.safetensors");
  const std::string out_ = directory_.File("prepared.safetensors");
  const std::string back_ = directory_.File("back.safetensors");
};

TEST_P(RoundTripTest, LosslessIsTheIdentity) {
  const Ran prepared = RunLanewise(Prepare({"--lossless"}));
  ASSERT_EQ(prepared.status, 0) << Text(prepared);
  EXPECT_EQ(prepared.err, "") << "a pipe gets no progress bar";
  EXPECT_NE(prepared.out.find("recipe " + FamilyNamed(GetParam().family).recipe + ":"),
            std::string::npos)
      << Text(prepared);
  const Ran alone = RunLanewise({"verify", out_});
  ASSERT_EQ(alone.status, 0) << Text(alone);
  const Ran verified = RunLanewise({"verify", out_, "--against", in_});
  ASSERT_EQ(verified.status, 0) << Text(verified);
  const Ran restored = RunLanewise({"restore", out_, back_});
  ASSERT_EQ(restored.status, 0) << Text(restored);
  EXPECT_NE(restored.out.find("byte for byte"), std::string::npos) << Text(restored);
  EXPECT_TRUE(ReadAll(in_) == ReadAll(back_)) << "the restored file differs";
  EXPECT_EQ(directory_.Names(), (std::vector<std::string>{"back.safetensors", "model.safetensors",
                                                          "prepared.safetensors"}));
}

// Without --lossless the prepared bytes are the same ones, and what is lost is said.
TEST_P(RoundTripTest, PlainPreparationVerifiesAndRestores) {
  const Ran prepared = RunLanewise(Prepare({"--threads", "1"}));
  ASSERT_EQ(prepared.status, 0) << Text(prepared);
  const Ran verified = RunLanewise({"verify", out_, "--against", in_});
  ASSERT_EQ(verified.status, 0) << Text(verified);
  const Ran restored = RunLanewise({"restore", out_, back_});
  ASSERT_EQ(restored.status, 0) << Text(restored);
  const bool loses = prepared.out.find("became +0") != std::string::npos;
  const bool exact = ReadAll(in_) == ReadAll(back_);
  EXPECT_EQ(loses, GetParam().target == "gfx942") << Text(prepared);
  EXPECT_EQ(exact, !loses) << Text(restored);
  EXPECT_EQ(restored.out.find("not the source byte for byte") != std::string::npos, loses)
      << Text(restored);
}

// gfx950 with row codes kept or made, whatever folds.
TEST_P(RoundTripTest, BatchInvariant) {
  if (GetParam().target != "gfx950" || GetParam().family == "generic_mxfp8_dequantized") return;
  const Ran prepared = RunLanewise(Prepare({"--lossless", "--batch-invariant"}));
  ASSERT_EQ(prepared.status, 0) << Text(prepared);
  const Ran verified = RunLanewise({"verify", out_, "--against", in_});
  ASSERT_EQ(verified.status, 0) << Text(verified);
  const Ran restored = RunLanewise({"restore", out_, back_});
  ASSERT_EQ(restored.status, 0) << Text(restored);
  EXPECT_TRUE(ReadAll(in_) == ReadAll(back_)) << "the restored file differs";
}

INSTANTIATE_TEST_SUITE_P(Families, RoundTripTest, testing::ValuesIn(Cases()), CaseName);

}  // namespace
}  // namespace lanewise
