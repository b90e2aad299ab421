#ifndef LANEWISE_WEIGHTS_LINEAR_SOURCE_H_
#define LANEWISE_WEIGHTS_LINEAR_SOURCE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "weights/tensor_plan.h"

namespace lanewise {

// An MXFP8 linear as a checkpoint or a loader holds it, and the part of it that is wanted. Sources
// for its plans: {weight, scale codes}.
struct LinearSource {
  enum class WeightForm {
    kE4m3,  // [n, k] OCP e4m3 bytes
    kBf16,  // [n, k] bf16, dequantized from e4m3 bytes and the codes
  };
  std::int64_t n = 0;
  std::int64_t k = 0;
  WeightForm weight = WeightForm::kE4m3;
  // One code stands for code_rows x code_columns elements: 32 x 32, 1 x 32 (row codes), or a larger
  // block such as 128 x 128, whose code serves each 32 x 32 block in it. The codes are [ceil(n /
  // code_rows), ceil(k / code_columns)].
  std::int64_t code_rows = 32;
  std::int64_t code_columns = 32;

  // The rows and columns wanted (a tensor-parallel rank's part); all by default.
  std::int64_t row_begin = 0;
  std::int64_t rows = 0;
  std::int64_t k_begin = 0;
  std::int64_t columns = 0;

  static LinearSource Whole(std::int64_t n, std::int64_t k, WeightForm weight,
                            std::int64_t code_rows, std::int64_t code_columns = 32) {
    return {n, k, weight, code_rows, code_columns, 0, n, 0, k};
  }

  bool HasRowCodes() const { return code_rows == 1; }

  // Where row `row` of the part lies in the weight, and its codes in the codes.
  RowPlace WeightPlace(std::int64_t row) const {
    const std::int64_t element_bytes = weight == WeightForm::kBf16 ? 2 : 1;
    return {0, ((row_begin + row) * k + k_begin) * element_bytes};
  }
  RowPlace CodePlace(std::int64_t row) const {
    const std::int64_t codes_a_row = (k + code_columns - 1) / code_columns;
    return {1, (row_begin + row) / code_rows * codes_a_row + k_begin / code_columns};
  }
  RowPlaces WeightPlaces() const {
    return RowPlaces::Spaced(WeightPlace(0), k * (weight == WeightForm::kBf16 ? 2 : 1));
  }
  std::int64_t weight_row_bytes() const {
    return weight == WeightForm::kBf16 ? 2 * columns : columns;
  }
};

// InvalidArgument unless code_rows is 1 or a multiple of 32 and code_columns is one of 32, k and
// columns are multiples of 32 and k_begin one of code_columns, the part lies within the whole, and,
// with `whole_blocks` or block codes, n, row_begin and rows are multiples of 32 too.
absl::Status CheckLinearSource(const LinearSource& source, bool whole_blocks);

// Whether row codes [n, columns] are 32 x 32 blocks: n a multiple of 32, and every 32 rows alike.
bool RowCodesFold(std::span<const std::uint8_t> codes, std::int64_t n, std::int64_t columns);

// A weight and its scale codes, prepared.
struct WeightPlans {
  TensorPlan weight;
  TensorPlan codes;
};

// Codes of the part for 32 x 32 blocks: [rows / 32, columns / 32], in a row-major layout. Row codes
// are folded, and a block whose rows disagree is refused when the plan runs; codes of larger blocks
// are repeated.
absl::StatusOr<TensorPlan> PlanBlockCodes(const LinearSource& source, const Layout& layout,
                                          std::int64_t memory_columns);

// Codes of the part for each row: [rows, columns / 32]. Codes of blocks are repeated.
absl::StatusOr<TensorPlan> PlanRowCodes(const LinearSource& source, const Layout& layout);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_LINEAR_SOURCE_H_
