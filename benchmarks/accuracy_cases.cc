#include "benchmarks/accuracy_cases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/status.h"
#include "reference/gemm/exact_linear.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/reduction.h"
#include "reference/gfx942/dense_gemv.h"
#include "reference/gfx942/moe_semantics.h"
#include "reference/gfx950/a16w4_moe_semantics.h"
#include "reference/gfx950/bf16_gemm.h"
#include "reference/gfx950/block32_gemm.h"
#include "reference/gfx950/moe_semantics.h"
#include "reference/gfx950/row_scale_gemm.h"

namespace lanewise {
namespace {

using reference::Accuracy;
using reference::MxMatrix;
using reference::Quantized;
using reference::Reduction;
namespace gfx942 = reference::gfx942;
namespace gfx950 = reference::gfx950;

using Planned = absl::StatusOr<Tensor<float, 2>>;

// Operands without their signs.
Quantized Magnitudes(const Quantized& q, ElementFormat format) {
  Quantized magnitudes = q;
  const int mask = format == ElementFormat::kE2m1 ? 0x77 : 0x7F;
  for (std::int64_t i = 0; i < magnitudes.elements.size(); ++i) {
    magnitudes.elements.data()[i] = static_cast<std::uint8_t>(magnitudes.elements.data()[i] & mask);
  }
  return magnitudes;
}
Tensor<Bf16, 2> Magnitudes(const Tensor<Bf16, 2>& x) {
  Tensor<Bf16, 2> magnitudes(x.dimension(0), x.dimension(1));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    magnitudes.data()[i] = Bf16::FromBits(x.data()[i].bits() & 0x7FFF);
  }
  return magnitudes;
}

template <class X, class W>
absl::StatusOr<Accuracy> Measure(const Planned& planned, const X& x, const W& w, const X& x_size,
                                 const W& w_size, double bound) {
  if (!planned.ok()) return planned.status();
  LANEWISE_ASSIGN_OR_RETURN(const auto exact, reference::ExactLinear<double>(x, w));
  LANEWISE_ASSIGN_OR_RETURN(const auto size, reference::ExactLinear<double>(x_size, w_size));
  return reference::MeasureAccuracy(*planned, exact, size, bound);
}

// A planned product of two microscaled matrices.
absl::StatusOr<Accuracy> MeasureMx(const Planned& planned, ElementFormat x_format,
                                   const Quantized& x, ElementFormat w_format, const Quantized& w,
                                   double bound) {
  const Quantized x_size = Magnitudes(x, x_format);
  const Quantized w_size = Magnitudes(w, w_format);
  return Measure(planned, MxMatrix{x_format, x.elements, x.codes},
                 MxMatrix{w_format, w.elements, w.codes},
                 MxMatrix{x_format, x_size.elements, x_size.codes},
                 MxMatrix{w_format, w_size.elements, w_size.codes}, bound);
}

MxMatrix Fnuz(const Quantized& q) { return {ElementFormat::kE4m3Fnuz, q.elements, q.codes}; }
MxMatrix Ocp(const Quantized& q) { return {ElementFormat::kE4m3Fn, q.elements, q.codes}; }
MxMatrix Fp4(const Quantized& q) { return {ElementFormat::kE2m1, q.elements, q.codes}; }

auto DenseGemv(const gfx942::DenseGemvPlan& plan) {
  return [plan](const AccuracyOperands& operands) -> absl::StatusOr<Accuracy> {
    LANEWISE_ASSIGN_OR_RETURN(const Quantized x,
                              Quantize(operands.x, gfx942::DenseActivationOptions()));
    LANEWISE_ASSIGN_OR_RETURN(const Quantized w, gfx942::FnuzWeight(Ocp(operands.w8)));
    LANEWISE_ASSIGN_OR_RETURN(const Reduction reduction,
                              gfx942::DenseGemvReduction(operands.x.dimension(1), plan));
    return MeasureMx(gfx942::DenseGemv(Fnuz(x), Fnuz(w), plan), ElementFormat::kE4m3Fnuz, x,
                     ElementFormat::kE4m3Fnuz, w,
                     RoundingDepth(reduction) + reference::kCdna3BlockError);
  };
}

template <class Gemv>
auto Gfx942Experts(absl::StatusOr<Reduction> (*reduction_of)(std::int64_t), Gemv gemv) {
  return [=](const AccuracyOperands& operands) -> absl::StatusOr<Accuracy> {
    LANEWISE_ASSIGN_OR_RETURN(const Quantized x,
                              Quantize(operands.x, gfx942::RoutedActivationOptions()));
    LANEWISE_ASSIGN_OR_RETURN(const Reduction reduction, reduction_of(operands.x.dimension(1)));
    return MeasureMx(gemv(Fnuz(x), Fp4(operands.w4)), ElementFormat::kE4m3Fnuz, x,
                     ElementFormat::kE2m1, operands.w4,
                     RoundingDepth(reduction) + reference::kCdna3BlockError);
  };
}

template <class Gemv>
auto Gfx950Experts(absl::StatusOr<Reduction> (*reduction_of)(std::int64_t), Gemv gemv) {
  return [=](const AccuracyOperands& operands) -> absl::StatusOr<Accuracy> {
    LANEWISE_ASSIGN_OR_RETURN(const Quantized x,
                              Quantize(operands.x, gfx950::RoutedActivationOptions()));
    LANEWISE_ASSIGN_OR_RETURN(const Reduction reduction, reduction_of(operands.x.dimension(1)));
    return MeasureMx(gemv(Ocp(x), Fp4(operands.w4)), ElementFormat::kE4m3Fn, x,
                     ElementFormat::kE2m1, operands.w4, RoundingDepth(reduction));
  };
}

absl::StatusOr<Accuracy> RowScales(const AccuracyOperands& operands) {
  LANEWISE_ASSIGN_OR_RETURN(const Quantized x, Quantize(operands.x, reference::QuantizeOptions()));
  LANEWISE_ASSIGN_OR_RETURN(const Reduction reduction,
                            gfx950::RowScaleReduction(operands.x.dimension(1)));
  return MeasureMx(gfx950::RowScaleGemm(Ocp(x), Ocp(operands.w8)), ElementFormat::kE4m3Fn, x,
                   ElementFormat::kE4m3Fn, operands.w8, RoundingDepth(reduction));
}

auto Block32(const gfx950::Block32Config& config) {
  return [config](const AccuracyOperands& operands) -> absl::StatusOr<Accuracy> {
    LANEWISE_ASSIGN_OR_RETURN(const Quantized x,
                              Quantize(operands.x, reference::QuantizeOptions()));
    LANEWISE_ASSIGN_OR_RETURN(const Reduction reduction,
                              gfx950::Block32Reduction(operands.x.dimension(1), config));
    return MeasureMx(gfx950::Block32Gemm(Ocp(x), Ocp(operands.w8), config), ElementFormat::kE4m3Fn,
                     x, ElementFormat::kE4m3Fn, operands.w8, RoundingDepth(reduction));
  };
}

absl::StatusOr<Accuracy> Bf16Linear(const AccuracyOperands& operands) {
  LANEWISE_ASSIGN_OR_RETURN(const auto w, DequantizeToBf16(operands.w8, ElementFormat::kE4m3Fn));
  return Measure(gfx950::Bf16Gemm(operands.x, w), operands.x, w, Magnitudes(operands.x),
                 Magnitudes(w), static_cast<double>(operands.x.dimension(1) / 32));
}

absl::StatusOr<Accuracy> A16w4(const AccuracyOperands& operands) {
  const Quantized w_size = Magnitudes(operands.w4, ElementFormat::kE2m1);
  // A chain of ceil(pairs / 8) pairs of steps, 8 instructions each, then 8 additions of waves.
  const std::int64_t pairs = operands.x.dimension(1) / gfx950::kA16w4KMultiple;
  const double bound = static_cast<double>((pairs + 7) / 8 * 8 + 8);
  return Measure(gfx950::A16w4UpGate(operands.x, Fp4(operands.w4)), operands.x, Fp4(operands.w4),
                 Magnitudes(operands.x), Fp4(w_size), bound);
}

// Two slices, as the kernel is built.
absl::StatusOr<Reduction> Gfx942UpGate(std::int64_t k) { return gfx942::UpGateReduction(k); }
absl::StatusOr<Reduction> Gfx950UpGate(std::int64_t k) { return gfx950::UpGateReduction(k); }

// e4m3 with one code for 32 x 32 values: w [N, K].
Quantized QuantizeBlocks(const Tensor<float, 2>& w) {
  return *QuantizeSquareBlocks(w, reference::QuantizeOptions());
}

// Values of one kind. `typical` is the standard deviation where there is one.
Tensor<float, 2> Draw(AccuracyData data, std::int64_t rows, std::int64_t k, float typical,
                      bool outliers, std::mt19937* random) {
  Tensor<float, 2> values(rows, k);
  std::normal_distribution<float> normal(0.0f, 1.0f);
  std::uniform_int_distribution<int> scale(-20, 20);
  std::uniform_int_distribution<int> spread(-14, 0);
  std::vector<int> scales(static_cast<std::size_t>(k / 32));
  for (std::int64_t row = 0; row < rows; ++row) {
    // Weight blocks share their scale over 32 rows.
    if (row % 32 == 0) std::generate(scales.begin(), scales.end(), [&] { return scale(*random); });
    for (std::int64_t i = 0; i < k; ++i) {
      float value = typical * normal(*random);
      if (outliers && (*random)() % 100 == 0) value *= 20;
      if (data == AccuracyData::kWideScales) {
        value = std::ldexp(value, scales[static_cast<std::size_t>(i / 32)]);
      }
      if (data == AccuracyData::kWideBlocks) {
        value = std::ldexp(std::copysign(1.0f, value), spread(*random));
      }
      values(row, i) = value;
    }
  }
  return values;
}

Tensor<Bf16, 2> ToBf16(const Tensor<float, 2>& values) {
  Tensor<Bf16, 2> rounded(values.dimension(0), values.dimension(1));
  for (std::int64_t i = 0; i < values.size(); ++i) {
    rounded.data()[i] = Bf16::FromFloat(values.data()[i]);
  }
  return rounded;
}

Quantized QuantizeFp4(const Tensor<float, 2>& w) {
  return *Quantize(w, reference::DefaultQuantizeOptions(ElementFormat::kE2m1));
}

}  // namespace

std::string_view AccuracyDataName(AccuracyData data) {
  switch (data) {
    case AccuracyData::kNormal:
      return "normal";
    case AccuracyData::kWideScales:
      return "wide scales";
    case AccuracyData::kCancelling:
      return "cancelling";
    case AccuracyData::kWideBlocks:
      return "wide blocks";
  }
  return "unknown";
}

AccuracyOperands MakeAccuracyOperands(AccuracyData data, std::int64_t m, std::int64_t n,
                                      std::int64_t k, unsigned seed) {
  std::mt19937 random(seed);
  Tensor<float, 2> x = Draw(data, m, k, 1.0f, true, &random);
  Tensor<float, 2> w = Draw(data, n, k, 0.02f, false, &random);
  if (data == AccuracyData::kCancelling) {
    for (std::int64_t i = k / 2; i < k; ++i) {
      for (std::int64_t row = 0; row < m; ++row) x(row, i) = x(row, i - k / 2);
      for (std::int64_t row = 0; row < n; ++row) w(row, i) = -w(row, i - k / 2);
    }
    for (std::int64_t row = 0; row < n; ++row) w(row, row % k) *= 0.5f;
  }
  return {ToBf16(x), QuantizeBlocks(w), QuantizeFp4(w)};
}

absl::StatusOr<AccuracyOperands> OperandsOfWeight(const Quantized& w8, std::int64_t m,
                                                  unsigned seed) {
  std::mt19937 random(seed);
  const std::int64_t n = w8.elements.dimension(0);
  const std::int64_t k = w8.elements.dimension(1);
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("weight", Ocp(w8)));
  Tensor<float, 2> w(n, k);
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t i = 0; i < k; ++i) {
      w(row, i) = std::ldexp(reference::DecodeElement(ElementFormat::kE4m3Fn, w8.elements(row, i)),
                             Ocp(w8).code(row, i / 32) - 127);
    }
  }
  return AccuracyOperands{ToBf16(Draw(AccuracyData::kNormal, m, k, 1.0f, true, &random)), w8,
                          QuantizeFp4(w)};
}

std::span<const AccuracyCase> AccuracyCases() {
  using gfx950::Block32Form;
  static const auto& cases = *new std::vector<AccuracyCase>{
      {"gfx942 dense GEMV, 8 waves", DenseGemv(gfx942::kDensePlan)},
      {"gfx942 dense GEMV, contiguous", DenseGemv(gfx942::kGroupedPlan)},
      {"gfx942 dense GEMV, K in two", DenseGemv(gfx942::kSplitPlan)},
      {"gfx942 experts, up/gate",
       Gfx942Experts(Gfx942UpGate, [](const MxMatrix& x,
                                      const MxMatrix& w) { return gfx942::UpGateGemv(x, w); })},
      {"gfx942 experts, down", Gfx942Experts(gfx942::DownReduction, gfx942::DownGemv)},
      {"gfx950 MXFP8, row scales", RowScales},
      {"gfx950 MXFP8, block32 tiled", Block32({Block32Form::kTiled, 64, 64, 256})},
      {"gfx950 MXFP8, block32 packed", Block32({Block32Form::kPacked, 8, 16, 256, 2})},
      {"gfx950 MXFP8, block32 packed, split",
       Block32({Block32Form::kPacked, 4, 16, 128, 4, 5, true})},
      {"gfx950 bf16", Bf16Linear},
      {"gfx950 experts, up/gate",
       Gfx950Experts(Gfx950UpGate, [](const MxMatrix& x,
                                      const MxMatrix& w) { return gfx950::UpGateGemv(x, w); })},
      {"gfx950 experts, down", Gfx950Experts(gfx950::DownReduction, gfx950::DownGemv)},
      {"gfx950 A16W4, up/gate", A16w4},
  };
  return cases;
}

}  // namespace lanewise
