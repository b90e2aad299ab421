#include "base/text.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

TEST(Text, CrossesTheSeamBothWays) {
  const std::string_view text("a\0b", 3);
  const absl::Status status = absl::InvalidArgumentError(absl::StrCat("<", AbslView(text), ">"));
  EXPECT_EQ(StdView(status.message()), std::string_view("<a\0b>", 5));
}

TEST(Text, StatusOrHoldsAValueOrAStatus) {
  absl::StatusOr<int> value = 3;
  EXPECT_EQ(*value, 3);
  value = absl::NotFoundError("gone");
  EXPECT_FALSE(value.ok());
}

}  // namespace
}  // namespace lanewise
