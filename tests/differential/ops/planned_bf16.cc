// gfx950's GEMMs of bf16 activations as reference/ plans them, on the host: by bf16 weights, and by
// FP4 weights that become bf16 (A16W4).

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/status.h"
#include "reference/exact/accumulator.h"
#include "reference/gemm/accuracy.h"
#include "reference/gemm/exact_linear.h"
#include "reference/gfx950/a16w4_moe_semantics.h"
#include "reference/gfx950/bf16_gemm.h"
#include "tests/differential/matrices.h"
#include "tests/differential/planned.h"

namespace lanewise::differential {
namespace {

namespace gfx950 = reference::gfx950;

// acc + the exact sum of one instruction's products, rounded once.
float AddProducts(float accumulator, const Tensor<Bf16, 2>& x, const Tensor<Bf16, 2>& w,
                  std::int64_t m, std::int64_t n, const std::vector<std::int64_t>& columns) {
  ExactAccumulator sum;
  sum.AddDouble(accumulator);
  for (const std::int64_t k : columns) {
    sum.AddDouble(static_cast<double>(x(m, k).ToFloat()) * w(n, k).ToFloat());
  }
  return sum.ToFloat();
}

Tensor<Bf16, 2> Magnitudes(Tensor<Bf16, 2> x) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = Bf16::FromBits(static_cast<std::uint16_t>(x.data()[i].bits() & 0x7FFF));
  }
  return x;
}

const Argument kX = {.name = "x", .format = "bf16", .extents = {"M", "K"}};
const Argument kOut = {.name = "out",
                       .format = "f32",
                       .role = Role::kOutput,
                       .extents = {"M", "N"},
                       .contract = Contract::kWithin};
const std::vector<Data> kData = {Data::kNormal,      Data::kRandomBits,    Data::kNan,
                                 Data::kSubnormals,  Data::kExtremeScales, Data::kOneHot,
                                 Data::kCancellation};

// ---- by bf16 ----

// One chain over K, 32 at a time.
absl::Status ExpectBf16(const Call& call) {
  const auto x = TensorOf<Bf16, 2>(call, "x"), w = TensorOf<Bf16, 2>(call, "w");
  const Operand& out = call.At("out");
  const std::int64_t k = call["K"];
  if (call["against"] == 0) {
    ExpectBits(out, [&](std::int64_t m, std::int64_t n) {
      float accumulator = 0;
      for (std::int64_t first = 0; first < k; first += 32) {
        std::vector<std::int64_t> columns;
        for (std::int64_t at = first; at < std::min(k, first + 32); ++at) columns.push_back(at);
        accumulator = AddProducts(accumulator, x, w, m, n, columns);
      }
      return accumulator;
    });
    return absl::OkStatus();
  }
  const auto exact = reference::ExactLinear<double>(x, w);
  const auto sizes = reference::ExactLinear<double>(Magnitudes(x), Magnitudes(w));
  if (!exact.ok()) return exact.status();
  if (!sizes.ok()) return sizes.status();
  ExpectWithin(out, *exact, *sizes, static_cast<double>((k + 31) / 32));
  return absl::OkStatus();
}

const Registration kBf16([] {
  Operation operation;
  operation.name = "planned/gfx950/bf16_gemm";
  operation.dimensions = {{"M"}, {"N"}, {"K"}, {"against", {"plan", "exact"}}};
  operation.shapes =
      "M=3 N=17 K=1,31,33,160,1120 against=*\n"
      "random 4: M=1..6 N=1..40 K=1..1500 against=*\n"
      "M=0 N=4 K=32 against=*";
  operation.arguments = {
      kX, {.name = "w", .format = "bf16", .extents = {"N", "K"}, .negate_second_half = true}, kOut};
  operation.data = kData;
  operation.reference = ExpectBf16;
  operation.host = [](const Call& call) {
    const auto out = gfx950::Bf16Gemm(TensorOf<Bf16, 2>(call, "x"), TensorOf<Bf16, 2>(call, "w"));
    if (out.ok()) Store(call, "out", *out);
    return out.status();
  };
  return operation;
}());

// ---- by FP4 that becomes bf16 ----

// The weight's bf16 values: exact but for the codes that overflow.
Tensor<Bf16, 2> Bf16Of(const Mx& w) {
  Tensor<Bf16, 2> values(w.view().rows(), w.view().k());
  for (std::int64_t n = 0; n < values.dimension(0); ++n) {
    for (std::int64_t k = 0; k < values.dimension(1); ++k) {
      const double value = std::ldexp(w.Element(n, k), w.view().code(n, k / 32) - 127);
      values(n, k) =
          Bf16::FromFloat(w.IsNan(n, k / 32) ? std::nanf("") : static_cast<float>(value));
    }
  }
  return values;
}

// Eight waves with a run of whole pairs of steps of 128 each; in a step, instruction d takes 8
// columns of each 32.
absl::Status ExpectA16w4(const Call& call) {
  const auto x = TensorOf<Bf16, 2>(call, "x");
  const Mx w = MxOf(call, "w", "w_codes");
  const Operand& out = call.At("out");
  if (call["K"] % 256 != 0) return InvalidArgument("K is a multiple of 256");
  const std::int64_t steps = call["K"] / 128, run = 2 * ((steps / 2 + 7) / 8);
  if (call["against"] == 0) {
    const Tensor<Bf16, 2> values = Bf16Of(w);
    ExpectBits(out, [&](std::int64_t m, std::int64_t n) {
      float sum = 0;
      for (std::int64_t wave = 0; wave < 8; ++wave) {
        float accumulator = 0;
        for (std::int64_t step = wave * run; step < std::min(steps, (wave + 1) * run); ++step) {
          for (std::int64_t d = 0; d < 4; ++d) {
            std::vector<std::int64_t> columns;
            for (std::int64_t i = 0; i < 32; ++i) {
              columns.push_back(128 * step + 32 * (i / 8) + 8 * d + i % 8);
            }
            accumulator = AddProducts(accumulator, x, values, m, n, columns);
          }
        }
        sum += accumulator;
      }
      return sum;
    });
    return absl::OkStatus();
  }
  const Mx w_sizes = w.Magnitudes();
  const auto exact = reference::ExactLinear<double>(x, w.view());
  auto sizes = reference::ExactLinear<double>(Magnitudes(x), w_sizes.view());
  if (!exact.ok()) return exact.status();
  if (!sizes.ok()) return sizes.status();
  // Of weights that overflow in bf16 the true sum says nothing.
  for (std::int64_t n = 0; n < call["N"]; ++n) {
    bool overflows = false;
    for (std::int64_t b = 0; b < call["K"] / 32; ++b) overflows |= w.view().code(n, b) >= 253;
    for (std::int64_t m = 0; overflows && m < call["M"]; ++m) (*sizes)(m, n) = HUGE_VAL;
  }
  ExpectWithin(out, *exact, *sizes, static_cast<double>(4 * run + 8));
  return absl::OkStatus();
}

const Registration kA16w4([] {
  Operation operation;
  operation.name = "planned/gfx950/a16w4_up_gate";
  operation.dimensions = {{"M"}, {"N"}, {"K"}, {"against", {"plan", "exact"}}};
  operation.shapes =
      "M=2 N=17 K=256*{1,5,8,9} against=*\n"
      "random 4: M=1..4 N=1..24 K=256*{1..10} against=*\n"
      "M=2 N=4 K=128 against=plan  # refused";
  operation.arguments = {
      kX,
      {.name = "w", .format = "e2m1", .extents = {"N", "K"}, .negate_second_half = true},
      {.name = "w_codes", .format = "e8m0", .extents = {"N", "K / 32"}},
      kOut};
  operation.data = kData;
  operation.reference = ExpectA16w4;
  operation.host = [](const Call& call) {
    const Mx w = MxOf(call, "w", "w_codes");
    const auto out = gfx950::A16w4UpGate(TensorOf<Bf16, 2>(call, "x"), w.view());
    if (out.ok()) Store(call, "out", *out);
    return out.status();
  };
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
