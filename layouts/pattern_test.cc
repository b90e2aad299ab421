#include "layouts/pattern.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gtest/gtest.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"

namespace lanewise {
namespace {

// Text as a template argument, so that "does this literal compile?" is a question code can ask.
template <std::size_t kLength>
struct Literal {
  char text[kLength];
  consteval Literal(const char (&from)[kLength]) { std::copy_n(from, kLength, text); }  // NOLINT
};
template <Literal kText>
concept Compiles = requires { typename std::integral_constant<int, Pattern(kText.text).factors>; };

static_assert(Compiles<"row(tile r:16) k -> tile k r">);
static_assert(Compiles<"a->a">);
static_assert(Compiles<"a ( b ) -> b"> == false);  // the axis's parenthesis follows its name
static_assert(!Compiles<"">);
static_assert(!Compiles<"row k">);
static_assert(!Compiles<"row - k">);
static_assert(!Compiles<"Row -> Row">);
static_assert(!Compiles<"row(tile r:16 -> tile r">);
static_assert(!Compiles<"row tile r:16) -> tile r">);
static_assert(!Compiles<"row() -> ">);
static_assert(!Compiles<"row(tile r:) -> tile r">);
static_assert(!Compiles<"row(tile r:0) -> tile r">);
static_assert(!Compiles<"row(tile r:4294967297) -> tile r">);
static_assert(!Compiles<"row(tile r) -> tile r">);  // r is open, but not outermost
static_assert(!Compiles<"row(tile r:2) k(r:4) -> tile r">);
static_assert(!Compiles<"row row -> row">);
static_assert(!Compiles<"row(tile r:2) -> tile">);
static_assert(!Compiles<"row(tile r:2) -> tile r r">);
static_assert(!Compiles<"row(tile r:2) -> tile r k">);
static_assert(!Compiles<"a b c d e -> a b c d e">);
static_assert(!Compiles<"a_name_that_is_too_long -> a_name_that_is_too_long">);
static_assert(!Compiles<"x(a b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 j:1 k:1 l:1 m:1) -> "
                        "a b c d e f g h i j k l m">);

TEST(Pattern, ReadsAxesFactorsAndOrder) {
  constexpr Pattern kPattern =
      "row(tile r:16) byte k(round block:blocks) -> tile byte r round block";
  EXPECT_EQ(kPattern.axes, 3);
  EXPECT_EQ(kPattern.factors, 5);
  EXPECT_EQ(kPattern.axis_name[0].view(), "row");
  EXPECT_EQ(kPattern.axis_name[1].view(), "byte");
  EXPECT_EQ(kPattern.axis_name[2].view(), "k");
  EXPECT_TRUE(kPattern.factor[0].IsOpen());
  EXPECT_EQ(kPattern.factor[1].size, 16);
  EXPECT_EQ(kPattern.factor[1].axis, 0);
  EXPECT_EQ(kPattern.factor[2].name.view(), "byte");
  EXPECT_EQ(kPattern.factor[4].parameter.view(), "blocks");
  EXPECT_FALSE(kPattern.factor[4].IsOpen());
  const int order[] = {0, 2, 1, 3, 4};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(kPattern.memory_order[i], order[i]) << i;
  EXPECT_EQ(kPattern.WithParameter("blocks", 8).factor[4].size, 8);
  EXPECT_EQ(kPattern.WithParameter("other", 8).factor[4].size, 0);
}

struct Faulty {
  std::string_view text;
  PatternFault fault;
  int position;
};

TEST(Pattern, NamesTheFaultAndItsPlace) {
  for (const Faulty& faulty : {
           Faulty{"", PatternFault::kArrowExpected, 0},
           Faulty{"row k", PatternFault::kArrowExpected, 5},
           Faulty{"row -x k", PatternFault::kArrowExpected, 5},
           Faulty{"Row -> Row", PatternFault::kNameExpected, 0},
           Faulty{"row k -> row 7", PatternFault::kNameExpected, 13},
           Faulty{"row() -> row", PatternFault::kNameExpected, 4},
           Faulty{"a_name_that_is_too_long -> a", PatternFault::kNameTooLong, 0},
           Faulty{"row(tile r:) -> tile r", PatternFault::kSizeExpected, 11},
           Faulty{"row(tile r:0) -> tile r", PatternFault::kSizeNotPositive, 11},
           Faulty{"row(tile r:99999999999999999999) -> tile r", PatternFault::kSizeTooLarge, 11},
           Faulty{"row(tile r:16 -> tile r", PatternFault::kUnbalancedParenthesis, 0},
           Faulty{"row(tile r:16)) -> tile r", PatternFault::kUnbalancedParenthesis, 14},
           Faulty{"row(tile tile:2) -> tile", PatternFault::kFactorNamedTwiceOnTheLeft, 9},
           Faulty{"row row -> row", PatternFault::kAxisNamedTwice, 4},
           Faulty{"row k -> row x", PatternFault::kFactorOnTheRightIsNotOnTheLeft, 13},
           Faulty{"row k -> row row", PatternFault::kFactorNamedTwiceOnTheRight, 13},
           Faulty{"row k -> row", PatternFault::kFactorMissingOnTheRight, 12},
           Faulty{"row(r:2 tile) -> tile r", PatternFault::kOnlyTheOutermostFactorMayBeOpen, 8},
           Faulty{"a b c d e -> a b c d e", PatternFault::kTooManyAxes, 8},
       }) {
    const PatternParse parse = ParsePattern(faulty.text);
    EXPECT_EQ(parse.fault, faulty.fault) << faulty.text;
    EXPECT_EQ(parse.position, faulty.position) << faulty.text;
    const auto text = ParsePatternText(faulty.text);
    ASSERT_FALSE(text.ok()) << faulty.text;
    EXPECT_NE(std::string(text.status().message()).find(std::to_string(faulty.position)),
              std::string::npos);
  }
}

TEST(Pattern, TextIsReadBackAsTheSamePattern) {
  for (const Layout& layout : kCatalogue) {
    for (const Pattern* pattern : {&layout.main, &layout.remainder}) {
      if (pattern->factors == 0) continue;
      const std::string text = PatternText(*pattern);
      const auto again = ParsePatternText(text);
      ASSERT_TRUE(again.ok()) << text << ": " << again.status().message();
      EXPECT_EQ(PatternText(*again), text);
    }
  }
  EXPECT_EQ(
      PatternText(CatalogueLayout("gfx942/dense").main),
      "row(tile r:16) k(step half:2 block:2 group:4 byte:8) -> tile step half group r block byte");
}

TEST(Pattern, AnyTextIsParsedOrRefused) {
  // Every text of up to 6 characters of this alphabet, so that no combination of tokens escapes.
  constexpr std::string_view kAlphabet = "ab:2()->";
  std::string text;
  std::int64_t accepted = 0;
  for (int length = 0; length <= 6; ++length) {
    std::int64_t count = 1;
    for (int i = 0; i < length; ++i) count *= std::ssize(kAlphabet);
    for (std::int64_t n = 0; n < count; ++n) {
      text.assign(length, ' ');
      std::int64_t rest = n;
      for (char& c : text) {
        c = kAlphabet[rest % std::ssize(kAlphabet)];
        rest /= std::ssize(kAlphabet);
      }
      const PatternParse parse = ParsePattern(text);
      ASSERT_GE(parse.position, 0) << text;
      ASSERT_LE(parse.position, length) << text;
      if (parse.fault != PatternFault::kNone) continue;
      ++accepted;
      ASSERT_TRUE(ParsePatternText(PatternText(parse.pattern)).ok()) << text;
    }
  }
  EXPECT_GT(accepted, 4);  // a->a, b->b, ab->ab, a:2->a, ...
}

}  // namespace
}  // namespace lanewise
