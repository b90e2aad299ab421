#include "reference/gemm/activation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/gemm/hardware_math.h"
#include "reference/gemm/output.h"

namespace lanewise::reference {
namespace {

const float kLog2E = std::bit_cast<float>(std::uint32_t{0x3FB8AA3B});

// The formula with its two approximations as parameters.
struct Gated {
  float g;
  float u;
  float exponent;  // What exp2 is taken of.

  Gated(const Swiglu& swiglu, float gate, float up)
      : g(std::min(gate, swiglu.limit)),
        u(std::clamp(up, -swiglu.limit, swiglu.limit) + swiglu.up_offset),
        exponent(-(swiglu.alpha * g) * kLog2E) {}

  static float Denominator(float exp2) { return 1.0f + exp2; }
  float Value(float reciprocal) const { return g * reciprocal * u; }
};

// What an instruction may give where the nearest float32 is `nearest`.
std::vector<float> Approximations(float nearest) {
  std::vector<float> values = {nearest};
  float up = nearest;
  float down = nearest;
  for (int i = 0; i < kApproximationUlps; ++i) {
    up = std::nextafter(up, std::numeric_limits<float>::infinity());
    down = std::max(0.0f, std::nextafter(down, 0.0f));
    values.push_back(up);
    values.push_back(down);
  }
  if (nearest < std::numeric_limits<float>::min()) values.push_back(0.0f);
  return values;
}

}  // namespace

Bf16 Activate(const Swiglu& swiglu, float gate, float up) {
  if (std::isnan(gate) || std::isnan(up)) return Bf16::Nan();
  const Gated gated(swiglu, gate, up);
  return RoundToBf16(gated.Value(Reciprocal(Gated::Denominator(Exp2(gated.exponent)))));
}

bool Bf16Range::Contains(Bf16 y) const {
  const float value = y.ToFloat();
  if (std::isnan(low.ToFloat())) return std::isnan(value);
  return low.ToFloat() <= value && value <= high.ToFloat();
}

Bf16Range ActivationRange(const Swiglu& swiglu, float gate, float up) {
  Bf16Range range = {Activate(swiglu, gate, up), Activate(swiglu, gate, up)};
  if (std::isnan(range.low.ToFloat())) return range;
  const Gated gated(swiglu, gate, up);
  // y is monotonic in each approximation, so the ends of their ranges give the ends of its own.
  for (const float exp2 : Approximations(Exp2(gated.exponent))) {
    for (const float reciprocal : Approximations(Reciprocal(Gated::Denominator(exp2)))) {
      const Bf16 y = RoundToBf16(gated.Value(reciprocal));
      if (y.ToFloat() < range.low.ToFloat()) range.low = y;
      if (y.ToFloat() > range.high.ToFloat()) range.high = y;
    }
  }
  return range;
}

Bf16 ActivateSharedExpert(const Swiglu& swiglu, Bf16 gate, Bf16 up) {
  if (gate.IsNan() || up.IsNan()) return Bf16::Nan();
  const float g = std::min(gate.ToFloat(), swiglu.limit);
  const float u = std::clamp(up.ToFloat(), -swiglu.limit, swiglu.limit) + swiglu.up_offset;
  const Bf16 activated = RoundToBf16(g / (1.0f + Exp(-(swiglu.alpha * g))));
  return RoundToBf16(activated.ToFloat() * u);
}

}  // namespace lanewise::reference
