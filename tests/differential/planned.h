#ifndef LANEWISE_TESTS_DIFFERENTIAL_PLANNED_H_
#define LANEWISE_TESTS_DIFFERENTIAL_PLANNED_H_

// Operations of the GEMMs' `Planned` semantics (reference/). The implementation, on the host, is
// reference/'s evaluation of a reduction tree; it is held to two things:
//   against=plan   by the kernel's loops, written out for one output and in exact numbers block by
//                  block: every bit
//   against=exact  by the true sum, within the bound of reference/gemm/accuracy.h

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/reduction.h"
#include "reference/tensor.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {

// The accumulator after one block of 32 of one output.
using AddBlock = std::function<float(float accumulator, std::int64_t block)>;

struct PlannedGemm {
  std::string name;
  std::string x_format, w_format;
  bool block_scales = false;  // w has one code for 32 rows
  // Blocks are added by cdna3.h's arithmetic, a chain from zero that is then scaled; else exactly,
  // cdna4.h's contract.
  bool cdna3 = false;
  // w's elements are FP4 as cdna3 takes them, times 2^-7.
  bool fp4_as_fnuz = false;
  std::vector<Dimension> dimensions = {};  // beside M, N, K and `against`
  std::string shapes;
  std::function<absl::StatusOr<Tensor<float, 2>>(const Call&, const reference::MxMatrix& x,
                                                 const reference::MxMatrix& w)>
      planned;
  std::function<absl::StatusOr<reference::Reduction>(const Call&)> reduction;  // for its depth
  std::function<float(const Call&, const AddBlock&)> loops;
};

Operation PlannedOperation(PlannedGemm gemm);

// Fills `out` [M, N] and its tolerances: the true sums, and how far a sum of `depth` roundings may
// be off that loses `block_error` in a block (accuracy.h). `sizes` are the sums of magnitudes.
void ExpectWithin(const Operand& out, const Tensor<double, 2>& exact,
                  const Tensor<double, 2>& sizes, double bound);

// Fills `out` [M, N] element by element, every bit but a NaN's payload to be met.
void ExpectBits(const Operand& out,
                const std::function<float(std::int64_t m, std::int64_t n)>& element);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_PLANNED_H_
