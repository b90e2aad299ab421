#include "reference/flashmla/fused_gemm.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/formats.h"
#include "reference/gemm/exact_linear.h"

namespace lanewise::reference::flashmla {
namespace {

// Part `index` of `parts` equal ones along `axis`.
Tensor<std::uint8_t, 2> Part(const Tensor<std::uint8_t, 2>& whole, int axis, std::int64_t index,
                             std::int64_t parts) {
  std::array<std::int64_t, 2> first = {0, 0};
  std::array<std::int64_t, 2> size = {whole.dimension(0), whole.dimension(1)};
  const auto at = static_cast<std::size_t>(axis);
  size[at] /= parts;
  first[at] = index * size[at];
  return whole.slice(first, size);
}

}  // namespace

template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactQProjection(const MxMatrix& x, const MxMatrix& wq_b) {
  if (wq_b.has_block_scales()) {
    return absl::InvalidArgumentError(
        absl::StrCat("wq_b's codes are ", ShapeText(wq_b.codes), ", expected one row for each of ",
                     wq_b.rows(), " weight rows: the fused order splits blocks of 32 rows"));
  }
  return ExactLinear<Out>(x, wq_b);
}

template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactOProjection(const MxMatrix& o, const MxMatrix& wo_a,
                                                std::int64_t groups) {
  if (absl::Status status = CheckMxMatrix("o", o); !status.ok()) return status;
  if (absl::Status status = CheckMxMatrix("wo_a", wo_a); !status.ok()) return status;
  if (groups < 1 || wo_a.codes.dimension(0) % groups != 0 || wo_a.rows() % groups != 0 ||
      o.k() != groups * wo_a.k()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "o is ", ShapeText(o.elements), " and wo_a ", ShapeText(wo_a.elements), " with codes ",
        ShapeText(wo_a.codes), ": expected o [T, groups * K] and wo_a [groups * R, K] with ",
        groups, " groups"));
  }
  const std::int64_t rows = wo_a.rows() / groups;
  Tensor<Out, 2> z(o.rows(), wo_a.rows());
  for (std::int64_t group = 0; group < groups; ++group) {
    const Tensor<std::uint8_t, 2> o_elements = Part(o.elements, 1, group, groups);
    const Tensor<std::uint8_t, 2> o_codes = Part(o.codes, 1, group, groups);
    const Tensor<std::uint8_t, 2> w_elements = Part(wo_a.elements, 0, group, groups);
    const Tensor<std::uint8_t, 2> w_codes = Part(wo_a.codes, 0, group, groups);
    absl::StatusOr<Tensor<Out, 2>> part = ExactLinear<Out>(
        MxMatrix{o.format, o_elements, o_codes}, MxMatrix{wo_a.format, w_elements, w_codes});
    if (!part.ok()) return part.status();
    z.slice(std::array<std::int64_t, 2>{0, group * rows},
            std::array<std::int64_t, 2>{o.rows(), rows}) = *part;
  }
  return z;
}

template absl::StatusOr<Tensor<float, 2>> ExactQProjection(const MxMatrix&, const MxMatrix&);
template absl::StatusOr<Tensor<Bf16, 2>> ExactQProjection(const MxMatrix&, const MxMatrix&);
template absl::StatusOr<Tensor<double, 2>> ExactQProjection(const MxMatrix&, const MxMatrix&);
template absl::StatusOr<Tensor<float, 2>> ExactOProjection(const MxMatrix&, const MxMatrix&,
                                                           std::int64_t);
template absl::StatusOr<Tensor<Bf16, 2>> ExactOProjection(const MxMatrix&, const MxMatrix&,
                                                          std::int64_t);
template absl::StatusOr<Tensor<double, 2>> ExactOProjection(const MxMatrix&, const MxMatrix&,
                                                            std::int64_t);

}  // namespace lanewise::reference::flashmla
