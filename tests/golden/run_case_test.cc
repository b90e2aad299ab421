#include "tests/golden/run_case.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lanewise::golden {
namespace {

Case CaseOf(std::string op, const char* args = "{}") {
  return Case(5, std::move(op), nlohmann::json::parse(args), {}, {});
}

class RunCaseTest : public testing::Test {
 protected:
  RunCaseTest() {
    table_.Add("empty", kReference, [](const Case&) { return Results{}; });
    table_.Add("never", kReference, [](const Case&) -> absl::StatusOr<Results> {
      return InvalidArgument("7 of 9 values are odd");
    });
    table_.Add("never", "elsewhere", [](const Case&) { return Results{}; });
  }
  OperationTable table_;
};

TEST_F(RunCaseTest, PassesOrSaysWhy) {
  EXPECT_TRUE(RunCase(table_, CaseOf("empty"), kReference).ok());
  EXPECT_EQ(RunCase(table_, CaseOf("never"), kReference).message(),
            "refused: 7 of 9 values are odd");
  EXPECT_EQ(RunCase(table_, CaseOf("empty"), kWeights).message(), "there is no empty in weights");
  EXPECT_EQ(RunCase(table_, CaseOf("unknown"), kReference).message(),
            "there is no unknown in reference");
}

TEST_F(RunCaseTest, WantsARefusalWithTheMessage) {
  const char* const seven = R"({"message": "7 of 9 values"})";
  EXPECT_TRUE(RunCase(table_, CaseOf("never.refuse", seven), kReference).ok());
  // The counts matter, not the words.
  EXPECT_TRUE(
      RunCase(table_, CaseOf("never.refuse", R"({"message": "7 bad (9) e4m3"})"), kReference).ok());
  EXPECT_EQ(
      RunCase(table_, CaseOf("never.refuse", R"({"message": "8 of 9"})"), kReference).message(),
      "refused with '7 of 9 values are odd', expected the numbers of '8 of 9'");
  EXPECT_EQ(RunCase(table_, CaseOf("never.refuse", seven), "elsewhere").message(),
            "accepted, expected a refusal with '7 of 9 values'");
  EXPECT_FALSE(RunCase(table_, CaseOf("never.refuse"), kReference).ok());
}

TEST_F(RunCaseTest, NamesTheCase) {
  EXPECT_EQ(CaseText(CaseOf("dense_copy", R"({"chunk_q": true})"), kWeights),
            R"(case 5 dense_copy {"chunk_q":true} in weights)");
}

TEST(OperationTable, DemandsPreparationsInBothRooms) {
  const OperationTable& table = OperationTable::Get();
  const std::vector<std::string> both = {"reference", "weights"};
  EXPECT_EQ(table.Implementations("dense_copy"), both);
  EXPECT_EQ(table.Implementations("linear_copy.refuse"), both);
  EXPECT_EQ(table.Implementations("no_such_operation"), std::vector<std::string>{"reference"});
}

}  // namespace
}  // namespace lanewise::golden
