#include "reference/gfx950/block32_gemm.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "reference/quantize/options.h"

namespace lanewise::reference::gfx950 {
namespace {

std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

absl::Status CheckConfig(const Block32Config& config) {
  if (config.block_m < 1 || config.block_n < 1 || config.block_k < 1 || config.pack < 1 ||
      config.split < 1 || config.block_k % kBlockSize != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block32 configuration of tile ", config.block_m, " x ", config.block_n, " x ",
        config.block_k, ", pack ", config.pack, ", split ", config.split,
        ": expected positive numbers and a step in K that is a multiple of ", kBlockSize));
  }
  return absl::OkStatus();
}

// Columns [first, last) of K as one program adds them up.
Reduction Run(std::int64_t first, std::int64_t last, const Block32Config& config) {
  if (config.form == Block32Form::kTiled) return Ascending(first / kBlockSize, last / kBlockSize);
  Reduction panels;
  for (std::int64_t panel = 0; panel < config.pack; ++panel) {
    Reduction leaf;
    for (std::int64_t base = first; base < last; base += config.pack * config.block_k) {
      const std::int64_t begin = std::min(last, base + panel * config.block_k);
      const std::int64_t end = std::min(last, begin + config.block_k);
      for (std::int64_t k = begin; k < end; k += kBlockSize) leaf.blocks.push_back(k / kBlockSize);
    }
    panels.parts.push_back(std::move(leaf));
  }
  return panels;
}

}  // namespace

absl::StatusOr<Reduction> Block32Reduction(std::int64_t k, const Block32Config& config) {
  if (absl::Status status = CheckConfig(config); !status.ok()) return status;
  if (k % kBlockSize != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("K = ", k, " is not a multiple of the block size ", kBlockSize));
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
  if (absl::Status status = CheckMxMatrix("x", x); !status.ok()) return status;
  if (absl::Status status = CheckMxMatrix("w", w); !status.ok()) return status;
  if (absl::Status status = CheckSameK("x", x.k(), "w", w.k()); !status.ok()) return status;
  if (!w.has_block_scales() && w.rows() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("w's codes are ", ShapeText(w.codes),
                                                   ", expected one row for 32 rows of w ",
                                                   ShapeText(w.elements)));
  }
  absl::StatusOr<Reduction> reduction = Block32Reduction(x.k(), config);
  if (!reduction.ok()) return reduction.status();
  absl::StatusOr<std::unique_ptr<BlockProducts>> products = ExactBlockProducts(x, w);
  if (!products.ok()) return products.status();
  return EvaluateReduction(*reduction, **products, x, w);
}

}  // namespace lanewise::reference::gfx950
