// The words against the formats that they name and against each other.

#include <iterator>
#include <set>
#include <string_view>

#include "formats/registry.h"
#include "gtest/gtest.h"
#include "semantics/block_rule.h"
#include "semantics/element_format.h"
#include "semantics/float_type.h"

namespace lanewise {
namespace {

TEST(ElementFormatWord, SaysWhatTheFormatOfItsNameIs) {
  for (const ElementFormat word : kElementFormats) {
    SCOPED_TRACE(ElementFormatName(word));
    const FormatView* const format = FindFormat(ElementFormatName(word));
    ASSERT_NE(format, nullptr);
    EXPECT_EQ(ElementBits(word), format->bits);
    EXPECT_EQ(ElementBytes(word, 64) * 8, 64 * format->bits);
    EXPECT_EQ(LargestFinite(word), format->decode(format->encode(1e30f, Overflow::kSaturate)));
  }
}

TEST(FloatTypeWord, SaysWhatTheFormatOfItsNameIs) {
  EXPECT_EQ(FloatBytes(FloatType::kF32), 4);
  for (const FloatType word : {FloatType::kBf16, FloatType::kF16}) {
    SCOPED_TRACE(FloatTypeName(word));
    const FormatView* const format = FindFormat(FloatTypeName(word));
    ASSERT_NE(format, nullptr);
    EXPECT_EQ(FloatBytes(word) * 8, format->bits);
  }
}

// Each list has every value once: the value after its last has no name.
TEST(Lists, AreWhole) {
  std::set<std::string_view> names;
  for (const BlockRule rule : kBlockRules) names.insert(BlockRuleName(rule));
  EXPECT_EQ(names.size(), std::size(kBlockRules));
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(BlockRuleName(static_cast<BlockRule>(std::size(kBlockRules))), "unknown");

  names.clear();
  for (const ElementFormat format : kElementFormats) names.insert(ElementFormatName(format));
  EXPECT_EQ(names.size(), std::size(kElementFormats));
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(ElementFormatName(static_cast<ElementFormat>(std::size(kElementFormats))), "unknown");
}

}  // namespace
}  // namespace lanewise
