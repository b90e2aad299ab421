#include "tests/differential/expression.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace lanewise::differential {
namespace {

absl::StatusOr<std::int64_t> With5And7(std::string_view text) {
  return Evaluate(text, [](std::string_view name) -> std::optional<std::int64_t> {
    if (name == "M") return 5;
    if (name == "K") return 7;
    return std::nullopt;
  });
}

TEST(Expression, Evaluates) {
  EXPECT_EQ(*With5And7("M"), 5);
  EXPECT_EQ(*With5And7("2 + M * K - 1"), 36);
  EXPECT_EQ(*With5And7("(2 + M) * K % 4"), 1);
  EXPECT_EQ(*With5And7("K / 2"), 3);
  EXPECT_EQ(*With5And7("(0 - K) / 2"), -4);
  EXPECT_EQ(*With5And7("ceil(K, 2) + roundup(M, 4)"), 12);
  EXPECT_EQ(*With5And7("ceil(0 - K, 2)"), -3);
  EXPECT_EQ(*With5And7("-1"), -1);
  EXPECT_EQ(*With5And7("-K / 2"), -4);
  EXPECT_EQ(*With5And7("M - -K * - 2"), -9);
  EXPECT_EQ(*With5And7("min(M, K) * max(M,K)"), 35);
}

TEST(Expression, SaysWhatIsWrongAndWhere) {
  const auto error = [](std::string_view text) {
    return std::string(With5And7(text).status().message());
  };
  EXPECT_NE(error("M + Q").find("character 5: there is no dimension 'Q'"), std::string::npos);
  EXPECT_NE(error("M +").find("expected a number"), std::string::npos);
  EXPECT_NE(error("(M").find("expected ')'"), std::string::npos);
  EXPECT_NE(error("-").find("expected a number"), std::string::npos);
  EXPECT_NE(error(std::string(200, '-')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(error("M M").find("character 3: expected an operator"), std::string::npos);
  EXPECT_NE(error("M / 0").find("division by 0"), std::string::npos);
  EXPECT_NE(error("floor(M, 2)").find("there is no function 'floor'"), std::string::npos);
  EXPECT_NE(error("9999999999999999999").find("more than 2^62"), std::string::npos);
  EXPECT_NE(error(std::string(200, '(')).find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace lanewise::differential
