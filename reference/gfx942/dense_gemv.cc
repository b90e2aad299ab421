#include "reference/gfx942/dense_gemv.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace lanewise::reference::gfx942 {
namespace {

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Appends the blocks of a step to a leaf, those that K has.
void AppendStep(std::int64_t step, std::int64_t blocks, Reduction* leaf) {
  const std::int64_t end = std::min(blocks, (step + 1) * kBlocksPerStep);
  for (std::int64_t block = step * kBlocksPerStep; block < end; ++block) {
    leaf->blocks.push_back(block);
  }
}

// One workgroup's waves over steps [first, last).
Reduction Workgroup(std::int64_t first, std::int64_t last, std::int64_t blocks,
                    const DenseGemvPlan& plan) {
  Reduction waves;
  waves.parts.emplace_back();  // The sum over waves starts from +0.
  const std::int64_t run = CeilDivide(last - first, plan.waves);
  for (std::int64_t wave = 0; wave < plan.waves; ++wave) {
    Reduction leaf;
    if (plan.order == DenseGemvPlan::Order::kStrided) {
      for (std::int64_t step = first + wave; step < last; step += plan.waves) {
        AppendStep(step, blocks, &leaf);
      }
    } else {
      const std::int64_t end = std::min(last, first + (wave + 1) * run);
      for (std::int64_t step = first + wave * run; step < end; ++step) {
        AppendStep(step, blocks, &leaf);
      }
    }
    waves.parts.push_back(std::move(leaf));
  }
  return waves;
}

constexpr std::uint8_t kFirstRefusedCode = 250;

}  // namespace

QuantizeOptions DenseActivationOptions() {
  QuantizeOptions options;
  options.format = ElementFormat::kE4m3Fnuz;
  options.maximum = 224.0f;
  return options;
}

absl::StatusOr<Reduction> DenseGemvReduction(std::int64_t k, const DenseGemvPlan& plan) {
  if (plan.waves < 1 || plan.splits < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a dense GEMV plan of ", plan.waves,
                                                   " waves and ", plan.splits,
                                                   " splits: expected 1 or more of each"));
  }
  if (k % kBlockSize != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("K = ", k, " is not a multiple of the block size ", kBlockSize));
  }
  const std::int64_t blocks = k / kBlockSize;
  const std::int64_t steps = CeilDivide(blocks, kBlocksPerStep);
  const std::int64_t run = CeilDivide(steps, plan.splits);
  Reduction workgroups;
  for (std::int64_t split = 0; split < plan.splits; ++split) {
    const std::int64_t first = std::min(steps, split * run);
    workgroups.parts.push_back(Workgroup(first, std::min(steps, first + run), blocks, plan));
  }
  return workgroups;
}

absl::StatusOr<Quantized> FnuzWeight(const MxMatrix& ocp) {
  if (absl::Status status = CheckMxMatrix("w", ocp); !status.ok()) return status;
  if (ocp.format != ElementFormat::kE4m3Fn) {
    return absl::InvalidArgumentError(absl::StrCat(
        "w is of ", AbslView(ElementFormatName(ocp.format)), ", expected e4m3fn to convert"));
  }
  Quantized fnuz = {ocp.elements, ocp.codes};
  for (std::int64_t n = 0; n < fnuz.elements.dimension(0); ++n) {
    for (std::int64_t k = 0; k < fnuz.elements.dimension(1); ++k) {
      std::uint8_t& byte = fnuz.elements(n, k);
      if ((byte & 0x7F) == 0x7F) {
        return absl::InvalidArgumentError(absl::StrCat("w[", n, ", ", k, "] is the e4m3fn NaN 0x",
                                                       absl::Hex(byte, absl::kZeroPad2),
                                                       ", which e4m3fnuz reads as a number"));
      }
      if (byte == 0x80) byte = 0x00;
    }
  }
  for (std::int64_t row = 0; row < fnuz.codes.dimension(0); ++row) {
    for (std::int64_t block = 0; block < fnuz.codes.dimension(1); ++block) {
      std::uint8_t& code = fnuz.codes(row, block);
      if (code >= kFirstRefusedCode) {
        return absl::InvalidArgumentError(absl::StrCat("w's code [", row, ", ", block, "] is ",
                                                       static_cast<int>(code), ", expected below ",
                                                       static_cast<int>(kFirstRefusedCode)));
      }
      ++code;
    }
  }
  return fnuz;
}

absl::StatusOr<Tensor<float, 2>> DenseGemv(const MxMatrix& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan) {
  if (absl::Status status = CheckMxMatrix("x", x); !status.ok()) return status;
  if (absl::Status status = CheckMxMatrix("w", w); !status.ok()) return status;
  if (absl::Status status = CheckSameK("x", x.k(), "w", w.k()); !status.ok()) return status;
  absl::StatusOr<Reduction> reduction = DenseGemvReduction(x.k(), plan);
  if (!reduction.ok()) return reduction.status();
  absl::StatusOr<std::unique_ptr<BlockProducts>> products = Cdna3BlockProducts(x, w);
  if (!products.ok()) return products.status();
  return EvaluateReduction(*reduction, **products, x, w);
}

absl::StatusOr<Tensor<float, 2>> DenseGemv(const Tensor<Bf16, 2>& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan) {
  const absl::StatusOr<Quantized> quantized = Quantize(x, DenseActivationOptions());
  if (!quantized.ok()) return quantized.status();
  return DenseGemv(MxMatrix{ElementFormat::kE4m3Fnuz, quantized->elements, quantized->codes}, w,
                   plan);
}

}  // namespace lanewise::reference::gfx942
