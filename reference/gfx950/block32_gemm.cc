#include "reference/gfx950/block32_gemm.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "reference/quantize/options.h"

namespace lanewise::reference::gfx950 {
namespace {

std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

absl::Status CheckConfig(const Block32Config& config) {
  const bool positive =
      config.block_m >= 1 && config.block_n >= 1 && config.block_k >= 1 && config.split >= 1;
  const bool pack = config.pack == 1 || config.pack == 2 || config.pack == 4;
  if (positive && pack && config.block_k % kBlockSize == 0) return absl::OkStatus();
  return InvalidArgument("block32 configuration of tile ", config.block_m, " x ", config.block_n,
                         " x ", config.block_k, ", pack ", config.pack, ", split ", config.split,
                         ": expected positive numbers, a step in K that is a multiple of ",
                         kBlockSize, ", and a pack of 1, 2 or 4");
}

Reduction Sum(Reduction a, Reduction b) {
  Reduction sum;
  sum.parts.push_back(std::move(a));
  sum.parts.push_back(std::move(b));
  return sum;
}

// Columns [first, last) of K as one program adds them up.
Reduction Run(std::int64_t first, std::int64_t last, const Block32Config& config) {
  if (config.form == Block32Form::kTiled) return Ascending(first / kBlockSize, last / kBlockSize);
  std::vector<Reduction> panels;
  for (std::int64_t panel = 0; panel < config.pack; ++panel) {
    Reduction leaf;
    for (std::int64_t base = first; base < last; base += config.pack * config.block_k) {
      const std::int64_t begin = std::min(last, base + panel * config.block_k);
      const std::int64_t end = std::min(last, begin + config.block_k);
      for (std::int64_t k = begin; k < end; k += kBlockSize) leaf.blocks.push_back(k / kBlockSize);
    }
    panels.push_back(std::move(leaf));
  }
  // Neighbours last: (p0 + p2) + (p1 + p3).
  for (std::size_t half = panels.size() / 2; half >= 1; half /= 2) {
    for (std::size_t p = 0; p < half; ++p) {
      panels[p] = Sum(std::move(panels[p]), std::move(panels[p + half]));
    }
  }
  return std::move(panels[0]);
}

}  // namespace

absl::StatusOr<Reduction> Block32Reduction(std::int64_t k, const Block32Config& config) {
  LANEWISE_RETURN_IF_ERROR(CheckConfig(config));
  if (k % kBlockSize != 0) {
    return InvalidArgument("K = ", k, " is not a multiple of the block size ", kBlockSize);
  }
  const std::int64_t step =
      config.form == Block32Form::kPacked ? config.block_k * config.pack : config.block_k;
  const std::int64_t size = RoundUp((k + config.split - 1) / config.split, step);
  if (k <= size) return Run(0, k, config);
  Reduction runs;
  runs.parts.emplace_back();  // The sum over runs starts from +0.
  for (std::int64_t first = 0; first < k; first += size) {
    runs.parts.push_back(Run(first, std::min(k, first + size), config));
  }
  return runs;
}

absl::StatusOr<Tensor<float, 2>> Block32Gemm(const MxMatrix& x, const MxMatrix& w,
                                             const Block32Config& config) {
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("x", x));
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("w", w));
  LANEWISE_RETURN_IF_ERROR(CheckSameK("x", x.k(), "w", w.k()));
  if (!w.has_block_scales() && w.rows() != 0) {
    return InvalidArgument("w's codes are ", ShapeText(w.codes),
                           ", expected one row for 32 rows of w ", ShapeText(w.elements));
  }
  LANEWISE_ASSIGN_OR_RETURN(const Reduction reduction, Block32Reduction(x.k(), config));
  LANEWISE_ASSIGN_OR_RETURN(const std::unique_ptr<BlockProducts> products,
                            ExactBlockProducts(x, w));
  return EvaluateReduction(reduction, *products, x, w);
}

}  // namespace lanewise::reference::gfx950
