#ifndef LANEWISE_WEIGHTS_LINEAR_SOURCE_H_
#define LANEWISE_WEIGHTS_LINEAR_SOURCE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "weights/tensor_plan.h"

namespace lanewise {

// An MXFP8 linear as a checkpoint or a loader holds it, and the part of it that is wanted. Sources for its
// plans: {weight, scale codes}.
struct LinearSource {
  enum class WeightForm {
    kE4m3,  // [n, k] OCP e4m3 bytes
    kBf16,  // [n, k] bf16, dequantized from e4m3 bytes and the codes
  };
  enum class CodeForm {
    kBlock,  // [n / 32, k / 32]: one for each 32 x 32 block
    kRow,    // [n, k / 32]: one for each row of a block
  };

  std::int64_t n = 0;
  std::int64_t k = 0;
  WeightForm weight = WeightForm::kE4m3;
  CodeForm codes = CodeForm::kBlock;

  // The rows and columns wanted (a tensor-parallel rank's part); all by default.
  std::int64_t row_begin = 0;
  std::int64_t rows = 0;
  std::int64_t k_begin = 0;
  std::int64_t columns = 0;

  static LinearSource Whole(std::int64_t n, std::int64_t k, WeightForm weight, CodeForm codes) {
    return {n, k, weight, codes, 0, n, 0, k};
  }

  // Where row `row` of the part lies in the weight, and its codes in the codes.
  RowPlace WeightPlace(std::int64_t row) const {
    const std::int64_t element_bytes = weight == WeightForm::kBf16 ? 2 : 1;
    return {0, ((row_begin + row) * k + k_begin) * element_bytes};
  }
  RowPlace CodePlace(std::int64_t row) const {
    const std::int64_t code_row = codes == CodeForm::kBlock ? (row_begin + row) / 32 : row_begin + row;
    return {1, code_row * (k / 32) + k_begin / 32};
  }
  std::int64_t weight_row_bytes() const {
    return weight == WeightForm::kBf16 ? 2 * columns : columns;
  }
};

// InvalidArgument unless k, k_begin and columns are multiples of 32, the part lies within the whole, and,
// with `whole_blocks`, n, row_begin and rows are multiples of 32 too.
absl::Status CheckLinearSource(const LinearSource& source, bool whole_blocks);

// Whether row codes [n, columns] are 32 x 32 blocks: n a multiple of 32, and every 32 rows alike.
bool RowCodesFold(std::span<const std::uint8_t> codes, std::int64_t n, std::int64_t columns);

struct LinearPlans {
  TensorPlan weight;
  TensorPlan codes;
};

// Codes of the part as block codes: [rows / 32, columns / 32], in a row-major layout; row codes are folded,
// and a block whose rows disagree is refused when the plan runs.
absl::StatusOr<TensorPlan> PlanBlockCodes(const LinearSource& source, const Layout& layout,
                                          std::int64_t memory_columns);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_LINEAR_SOURCE_H_
