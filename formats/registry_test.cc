#include "formats/registry.h"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "formats/formats.h"
#include "formats/number_line.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

TEST(RegistryTest, HoldsEveryFormatOnce) {
  std::multiset<std::string_view> names;
  for (const FormatView& format : kFormats) names.insert(format.name);
  const std::multiset<std::string_view> expected = {
      "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e2m3", "e3m2", "e2m1", "e8m0", "bf16", "f16"};
  EXPECT_EQ(names, expected);
}

TEST(RegistryTest, ViewsHaveTheFactsOfTheirSpecifications) {
  for (const FormatView& format : kFormats) {
    SCOPED_TRACE(std::string(format.name));
    const FormatFacts facts = NumberLineOf(format.name).facts();
    ASSERT_EQ(facts.name, format.name);
    EXPECT_EQ(format.spec->name, format.name);
    EXPECT_EQ(format.spec->exponent_bits, facts.exponent_bits);
    EXPECT_EQ(format.spec->mantissa_bits, facts.mantissa_bits);
    EXPECT_EQ(format.spec->bias, facts.bias);
    EXPECT_EQ(format.spec->has_sign, facts.sign_bits == 1);
    EXPECT_EQ(format.bits, facts.sign_bits + facts.exponent_bits + facts.mantissa_bits);
  }
}

TEST(RegistryTest, FindsByName) {
  for (const FormatView& format : kFormats) EXPECT_EQ(FindFormat(format.name), &format);
  EXPECT_EQ(FindFormat("e4m3"), nullptr);
  EXPECT_EQ(FindFormat(""), nullptr);
}

template <class... Formats>
struct Count {
  static constexpr std::size_t kValue = sizeof...(Formats);
};

TEST(RegistryTest, TypesAndViewsAreTheSameList) {
  EXPECT_EQ(AllFormats<Count>::kValue, kFormats.size());
  EXPECT_EQ(kFormats[0].decode(0x7E), E4m3Fn::Largest().ToFloat());
  EXPECT_EQ(kFormats[0].encode(500, Overflow::kSaturate), 0x7E);
  EXPECT_EQ(kFormats[0].encode_double(500, Overflow::kNonFinite), 0x7F);
}

}  // namespace
}  // namespace lanewise
