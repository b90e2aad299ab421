#include "base/status.h"

#include <memory>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

TEST(StatusTest, MessagesTakeEveryKindOfText) {
  const std::string_view view = "w1";
  const absl::Status status =
      InvalidArgument(view, std::string(": K is "), 33, ", no multiple of ", 32u);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StdView(status.message()), "w1: K is 33, no multiple of 32");
}

TEST(StatusTest, EachRefusalHasItsCode) {
  EXPECT_EQ(NotFound("a").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FailedPrecondition("a").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Unimplemented("a").code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(DataLoss("a").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Internal("a").code(), absl::StatusCode::kInternal);
}

absl::StatusOr<std::unique_ptr<int>> Positive(int value) {
  if (value <= 0) return InvalidArgument(value, " is not positive");
  return std::make_unique<int>(value);
}

absl::Status CheckBelow(int value, int limit) {
  return value < limit ? absl::OkStatus() : InvalidArgument(value, " is not below ", limit);
}

// An if without braces around the macro: its else is its own.
absl::StatusOr<int> Doubled(int value, bool checked) {
  if (checked)
    LANEWISE_RETURN_IF_ERROR(CheckBelow(value, 10));
  else
    return 0;
  LANEWISE_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, Positive(value));
  LANEWISE_ASSIGN_OR_RETURN(const std::unique_ptr<int> second, Positive(value));
  return *first + *second;
}

TEST(StatusTest, TheMacrosHandOnValuesAndRefusals) {
  EXPECT_EQ(*Doubled(3, true), 6);
  EXPECT_EQ(*Doubled(3, false), 0);
  EXPECT_EQ(StdView(Doubled(-1, true).status().message()), "-1 is not positive");
  EXPECT_EQ(StdView(Doubled(12, true).status().message()), "12 is not below 10");
}

}  // namespace
}  // namespace lanewise
