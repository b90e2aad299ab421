#include "reference/gfx950/row_scale_gemm.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "reference/quantize/options.h"

namespace lanewise::reference::gfx950 {

absl::StatusOr<Reduction> RowScaleReduction(std::int64_t k) {
  if (k % kRowScaleKMultiple != 0) {
    return absl::InvalidArgumentError(absl::StrCat("K = ", k, " is not a multiple of ",
                                                   kRowScaleKMultiple,
                                                   ", as the GEMM with row scales needs"));
  }
  return Ascending(0, k / kBlockSize);
}

absl::StatusOr<Tensor<float, 2>> RowScaleGemm(const MxMatrix& x, const MxMatrix& w) {
  if (absl::Status status = CheckMxMatrix("x", x); !status.ok()) return status;
  if (absl::Status status = CheckMxMatrix("w", w); !status.ok()) return status;
  if (absl::Status status = CheckSameK("x", x.k(), "w", w.k()); !status.ok()) return status;
  absl::StatusOr<Reduction> reduction = RowScaleReduction(x.k());
  if (!reduction.ok()) return reduction.status();
  absl::StatusOr<std::unique_ptr<BlockProducts>> products = ExactBlockProducts(x, w);
  if (!products.ok()) return products.status();
  return EvaluateReduction(*reduction, **products, x, w);
}

}  // namespace lanewise::reference::gfx950
