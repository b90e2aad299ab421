#ifndef LANEWISE_TESTS_DIFFERENTIAL_OPS_DENSE_OPERANDS_H_
#define LANEWISE_TESTS_DIFFERENTIAL_OPS_DENSE_OPERANDS_H_

// gfx942's prepared MXFP8 weights as arguments of operations, and as the references read them.

#include <cstdint>
#include <string>
#include <vector>

#include "reference/tensor.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {

// The bytes [rows, roundup(k, 128)] of a dense copy and its codes [ceil(rows, 32), roundup(k, 128)
// / 32], `rows` and `k` being expressions. `lower`: WeightCodes'.
Argument DenseCopyBytes(const std::string& name, const std::string& rows, const std::string& k);
Argument DenseCopyCodes(const std::string& name, const std::string& rows, const std::string& k,
                        int lower);

// Rows [first, first + rows) of the copy in `name` and `codes_name`, columns [0, k) in memory's
// order of each 8: e4m3fnuz, with the codes of each row.
struct DenseRows {
  Tensor<std::uint8_t, 2> elements, codes;
};
DenseRows RowsOfCopy(const Call& call, std::string_view name, std::string_view codes_name,
                     std::int64_t first, std::int64_t rows, std::int64_t k);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_OPS_DENSE_OPERANDS_H_
