#include "reference/gemm/operand.h"

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "reference/quantize/options.h"

namespace lanewise::reference {

absl::Status CheckMxMatrix(std::string_view name, const MxMatrix& matrix) {
  const std::int64_t rows = matrix.rows();
  const std::int64_t k = matrix.k();
  if (k % kBlockSize != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(AbslView(name), " is ", ShapeText(matrix.elements), " of ",
                     AbslView(ElementFormatName(matrix.format)), ": K = ", k,
                     " is not a multiple of the block size ", kBlockSize));
  }
  const std::int64_t code_rows = matrix.codes.dimension(0);
  const bool row_scales = code_rows == rows;
  const bool block_scales = rows % kBlockSize == 0 && code_rows == rows / kBlockSize;
  if (matrix.codes.dimension(1) != k / kBlockSize || !(row_scales || block_scales)) {
    std::string expected = absl::StrCat("[", rows, ", ", k / kBlockSize, "]");
    if (rows % kBlockSize == 0) {
      absl::StrAppend(&expected, " or [", rows / kBlockSize, ", ", k / kBlockSize, "]");
    }
    return absl::InvalidArgumentError(
        absl::StrCat(AbslView(name), "'s codes are ", ShapeText(matrix.codes), ", expected ",
                     expected, " for ", AbslView(name), " ", ShapeText(matrix.elements), " of ",
                     AbslView(ElementFormatName(matrix.format))));
  }
  return absl::OkStatus();
}

absl::Status CheckSameK(std::string_view x_name, std::int64_t x_k, std::string_view w_name,
                        std::int64_t w_k) {
  if (x_k == w_k) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(AbslView(x_name), " has K = ", x_k, ", ",
                                                 AbslView(w_name), " has K = ", w_k,
                                                 "; expected the same"));
}

}  // namespace lanewise::reference
