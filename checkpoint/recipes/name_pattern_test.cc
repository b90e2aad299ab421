#include "checkpoint/recipes/name_pattern.h"

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::optional<Captures> Match(std::string_view pattern, std::string_view name) {
  const absl::StatusOr<NamePattern> parsed = NamePattern::Parse(pattern);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->Match(name);
}

std::string Refusal(std::string_view pattern) {
  const absl::StatusOr<NamePattern> parsed = NamePattern::Parse(pattern);
  EXPECT_FALSE(parsed.ok()) << pattern;
  return std::string(parsed.status().message());
}

TEST(NamePattern, CapturesByKind) {
  EXPECT_EQ(Match("layers.{layer#}.ffn.experts.{expert#}.{w}.weight",
                  "layers.12.ffn.experts.0.w1.weight"),
            (Captures{{"layer", "12"}, {"expert", "0"}, {"w", "w1"}}));
  EXPECT_EQ(Match("{p*}.{w:gate|up}_proj", "a.b.up_proj"), (Captures{{"p", "a.b"}, {"w", "up"}}));
  EXPECT_EQ(Match("{p:model|a.b}.x", "a.b.x"), (Captures{{"p", "a.b"}}));
  EXPECT_EQ(Match("plain", "plain"), Captures{});
}

TEST(NamePattern, FitsAllOrNothing) {
  EXPECT_FALSE(Match("{w}", "a.b"));
  EXPECT_FALSE(Match("{w}", ""));
  EXPECT_FALSE(Match("{w*}", ""));
  EXPECT_FALSE(Match("{n#}", "x"));
  EXPECT_FALSE(Match("{n#}", "01"));  // or two names would mean one expert
  EXPECT_TRUE(Match("{n#}", "0"));
  EXPECT_FALSE(Match("{n#}", "-1"));
  EXPECT_FALSE(Match("{n#}", "1x"));
  EXPECT_FALSE(Match("a", "ab"));
  EXPECT_FALSE(Match("b", "ab"));
  EXPECT_FALSE(Match("{w:a|b}", "c"));
  EXPECT_FALSE(Match("{w:a|b}", "ab"));
  EXPECT_FALSE(Match("a.b", "axb"));  // not a regular expression
}

TEST(NamePattern, EarlierCapturesAreShortest) {
  EXPECT_EQ(Match("{a*}.{b*}", "1.2.3"), (Captures{{"a", "1"}, {"b", "2.3"}}));
  EXPECT_EQ(Match("{a*}.experts.{e#}.w", "x.experts.y.experts.3.w"),
            (Captures{{"a", "x.experts.y"}, {"e", "3"}}));
  EXPECT_EQ(Match("{a:x|xy}{b*}", "xyz"), (Captures{{"a", "x"}, {"b", "yz"}}));
  EXPECT_EQ(Match("{a:x|xy}z", "xyz"), (Captures{{"a", "xy"}}));
}

TEST(NamePattern, LongNamesFitNothing) {
  EXPECT_TRUE(Match("{a*}", std::string(1024, 'x')));
  EXPECT_FALSE(Match("{a*}", std::string(1025, 'x')));
  // The slowest there is: both stars try everything.
  EXPECT_FALSE(Match("{a*}x{b*}xy", std::string(1024, 'x')));
}

TEST(NamePattern, WrongPatternsSayWhy) {
  EXPECT_THAT(Refusal(""), HasSubstr("empty"));
  EXPECT_THAT(Refusal("{a"), HasSubstr("without its '}'"));
  EXPECT_THAT(Refusal("a}"), HasSubstr("without its '{'"));
  EXPECT_THAT(Refusal("{a{b}}"), HasSubstr("without its '}'"));
  EXPECT_THAT(Refusal("{}"), HasSubstr("capture's name"));
  EXPECT_THAT(Refusal("{#}"), HasSubstr("capture's name"));
  EXPECT_THAT(Refusal("{A}"), HasSubstr("'A'"));
  EXPECT_THAT(Refusal("{a}.{a#}"), HasSubstr("two captures named 'a'"));
  EXPECT_THAT(Refusal("{a:x||y}"), HasSubstr("empty alternative"));
  EXPECT_THAT(Refusal("{a:}"), HasSubstr("empty alternative"));
  EXPECT_THAT(Refusal("{a*}{b*}{c*}"), HasSubstr("more than two"));
}

TEST(NameTemplate, PutsCapturesBack) {
  const absl::StatusOr<NameTemplate> name = NameTemplate::Parse("{p}.experts.{w}13");
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(name->Expand({{"p", "a.b"}, {"w", "w"}, {"x", "y"}}), "a.b.experts.w13");
  EXPECT_THAT(name->CaptureNames(), ElementsAre("p", "w"));
  EXPECT_FALSE(NameTemplate::Parse("{p#}").ok());
  EXPECT_FALSE(NameTemplate::Parse("{p").ok());
}

}  // namespace
}  // namespace lanewise
