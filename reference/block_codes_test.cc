#include "reference/block_codes.h"

#include <array>

#include "gtest/gtest.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference {
namespace {

using Shape2 = std::array<std::int64_t, 2>;
using Codes = Tensor<std::uint8_t, 2>;

TEST(BlockCodes, ExpandToOneRowForEachOf32AndFoldBack) {
  const Codes blocks = RandomBytes(Shape2{3, 5}, 91);
  const Codes rows = ExpandBlockCodes(blocks);
  ASSERT_EQ(ShapeText(rows), "[96, 5]");
  for (std::int64_t row = 0; row < 96; ++row) {
    for (std::int64_t column = 0; column < 5; ++column) {
      ASSERT_EQ(rows(row, column), blocks(row / 32, column));
    }
  }
  const auto folded = FoldRowCodes(rows);
  ASSERT_TRUE(folded.ok()) << folded.status();
  EXPECT_TRUE(Same(blocks, *folded));
}

TEST(BlockCodes, RefuseOneRowThatDisagrees) {
  const Codes rows = ExpandBlockCodes(RandomBytes(Shape2{3, 8}, 92, 100));
  for (const std::int64_t row : {1, 31, 33, 95}) {
    Codes changed = rows;
    changed(row, 6) = 200;
    EXPECT_EQ(FoldRowCodes(changed).status().message(),
              absl::StrCat("row scales (96, 8) are not 32 x 32 blocks: the code at row ", row,
                           ", column 6 is 200, the one of its block's first row ", row / 32 * 32,
                           " is ", +rows(row, 6)));
  }
  EXPECT_EQ(FoldRowCodes(Codes(40, 2)).status().message(),
            "row scales (40, 2) are not 32 x 32 blocks: 40 rows");
}

}  // namespace
}  // namespace lanewise::reference
