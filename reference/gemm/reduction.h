#ifndef LANEWISE_REFERENCE_GEMM_REDUCTION_H_
#define LANEWISE_REFERENCE_GEMM_REDUCTION_H_

// The `Planned` semantics of a microscaled GEMM: which blocks of 32 along K a kernel adds to which,
// in what order. A kernel's header states its reduction; this file evaluates one.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "reference/gemm/operand.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// A tree of sums. A leaf is one accumulator that takes blocks of 32 in the given order, starting
// from +0:
//   acc = RNE32(acc + d * 2^(x_code + w_code - 254))     d: the block's dot product
// A node adds the values of its parts in order, ((p0 + p1) + p2) ..., each sum rounded to float32.
struct Reduction {
  std::vector<std::int64_t> blocks;
  std::vector<Reduction> parts;
};

// A leaf over blocks first, first + 1, .. last - 1.
Reduction Ascending(std::int64_t first, std::int64_t last);

// Where a block's dot product comes from: the matrix core.
class BlockProducts {
 public:
  virtual ~BlockProducts() = default;

  // dots(i, j) = the dot product of row m0 + i of x with row n0 + j of w over `block`, without the
  // scales; dots has the size wanted.
  virtual void Multiply(std::int64_t block, std::int64_t m0, std::int64_t n0,
                        Matrix<double>* dots) const = 0;
};

// gfx942's: each block one chain of FP8 matrix instructions from C = 0, in cdna3.h's arithmetic,
// which rounds. x and w are of e4m3fnuz or e5m2fnuz.
absl::StatusOr<std::unique_ptr<BlockProducts>> Cdna3BlockProducts(const MxMatrix& x,
                                                                  const MxMatrix& w);

// gfx950's, by the contract of cdna4.h: exact. x and w are of e4m3fn or e2m1, of which a double
// product is exact in any order: products are multiples of 2^-18 below 2^18, so that 32 of them
// take 41 bits.
absl::StatusOr<std::unique_ptr<BlockProducts>> ExactBlockProducts(const MxMatrix& x,
                                                                  const MxMatrix& w);

// The reduction's value for every element of out [M, N] of x [M, K] and w [N, K]. `exponent_offset`
// is added to the sum of the scale codes. A code of 255 or a NaN element makes the output NaN
// (0x7FC00000), provided that the reduction has the block. The shapes must have been checked, and
// the blocks must exist.
Tensor<float, 2> EvaluateReduction(const Reduction& reduction, const BlockProducts& products,
                                   const MxMatrix& x, const MxMatrix& w, int exponent_offset = 0);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_REDUCTION_H_
