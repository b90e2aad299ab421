#include "reference/block_codes.h"

#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lanewise::reference {

using Codes = Tensor<std::uint8_t, 2>;

absl::StatusOr<Codes> FoldRowCodes(const Codes& codes) {
  const std::int64_t rows = codes.dimension(0), columns = codes.dimension(1);
  const std::string refusal =
      absl::StrCat("row scales (", rows, ", ", columns, ") are not 32 x 32 blocks");
  if (rows % 32 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(refusal, ": ", rows, " rows"));
  }
  Codes blocks(rows / 32, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const int code = codes(row, column);
      const std::int64_t first_row = row / 32 * 32;
      if (row == first_row) {
        blocks(row / 32, column) = codes(row, column);
      } else if (const int first = codes(first_row, column); code != first) {
        return absl::InvalidArgumentError(
            absl::StrCat(refusal, ": the code at row ", row, ", column ", column, " is ", code,
                         ", the one of its block's first row ", first_row, " is ", first));
      }
    }
  }
  return blocks;
}

Codes ExpandBlockCodes(const Codes& codes) {
  const std::int64_t blocks = codes.dimension(0), columns = codes.dimension(1);
  const std::array<std::int64_t, 3> one_row = {blocks, 1, columns}, repeat = {1, 32, 1};
  const std::array<std::int64_t, 2> rows = {32 * blocks, columns};
  return codes.reshape(one_row).broadcast(repeat).reshape(rows);
}

}  // namespace lanewise::reference
