#include "tests/differential/planned.h"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/status.h"
#include "reference/exact/accumulator.h"
#include "reference/gemm/accuracy.h"
#include "reference/gemm/exact_linear.h"
#include "reference/matrix_core/rational_twin.h"
#include "tests/differential/matrices.h"

namespace lanewise::differential {
namespace {

constexpr std::int64_t kBlock = 32;

// acc + the block's exact dot product, scaled, rounded once.
float AddExactly(float accumulator, const Mx& x, const Mx& w, std::int64_t m, std::int64_t n,
                 std::int64_t block) {
  ExactAccumulator sum;
  sum.AddDouble(accumulator);
  if (x.IsNan(m, block) || w.IsNan(n, block)) sum.AddNan();
  const int exponent = x.view().code(m, block) + w.view().code(n, block) - 254;
  for (std::int64_t k = kBlock * block; k < kBlock * (block + 1); ++k) {
    sum.AddDouble(x.Element(m, k) * w.Element(n, k), exponent);
  }
  return sum.ToFloat();
}

// acc + d * 2^(the codes), rounded once, d being what the matrix core makes of the block from zero.
float AddCdna3(float accumulator, const Mx& x, const Mx& w, bool fp4_as_fnuz, std::int64_t m,
               std::int64_t n, std::int64_t block) {
  constexpr OperandFormat kFormat = OperandFormat::kE4m3Fnuz;
  const int smallest = TwinDecode(kFormat, 0).smallest_exponent;
  std::vector<TwinElement> a, b;
  for (std::int64_t k = kBlock * block; k < kBlock * (block + 1); ++k) {
    a.push_back({x.Element(m, k), smallest});
    b.push_back({std::ldexp(w.Element(n, k), fp4_as_fnuz ? -7 : 0), smallest});
  }
  const float d = std::bit_cast<float>(Cdna3Twin(kFormat, a, b, 0));
  ExactAccumulator sum;
  sum.AddDouble(accumulator);
  if (x.IsNan(m, block) || w.IsNan(n, block)) sum.AddNan();
  const int codes = x.view().code(m, block) + w.view().code(n, block) - 254;
  sum.AddDouble(d, codes + (fp4_as_fnuz ? 7 : 0));
  return sum.ToFloat();
}

absl::Status Judge(const PlannedGemm& gemm, const Call& call) {
  const Mx x = MxOf(call, "x", "x_codes"), w = MxOf(call, "w", "w_codes");
  for (const auto& [name, matrix] : {std::pair("x", &x), std::pair("w", &w)}) {
    LANEWISE_RETURN_IF_ERROR(reference::CheckMxMatrix(name, matrix->view()));
  }
  LANEWISE_ASSIGN_OR_RETURN(const reference::Reduction reduction, gemm.reduction(call));
  const Operand& out = call.At("out");
  if (call["against"] == 0) {
    ExpectBits(out, [&](std::int64_t m, std::int64_t n) {
      return gemm.loops(call, [&](float accumulator, std::int64_t block) {
        return gemm.cdna3 ? AddCdna3(accumulator, x, w, gemm.fp4_as_fnuz, m, n, block)
                          : AddExactly(accumulator, x, w, m, n, block);
      });
    });
    return absl::OkStatus();
  }
  const Mx x_sizes = x.Magnitudes(), w_sizes = w.Magnitudes();
  const auto exact = reference::ExactLinear<double>(x.view(), w.view());
  const auto sizes = reference::ExactLinear<double>(x_sizes.view(), w_sizes.view());
  if (!exact.ok()) return exact.status();
  if (!sizes.ok()) return sizes.status();
  ExpectWithin(out, *exact, *sizes,
               RoundingDepth(reduction) + (gemm.cdna3 ? reference::kCdna3BlockError : 0));
  return absl::OkStatus();
}

}  // namespace

void ExpectWithin(const Operand& out, const Tensor<double, 2>& exact,
                  const Tensor<double, 2>& sizes, double bound) {
  constexpr double kUnit = 0x1p-24;
  for (std::int64_t i = 0; i < exact.size(); ++i) {
    const double truth = exact.data()[i], size = sizes.data()[i];
    static_cast<float*>(out.data)[i] = static_cast<float>(truth);
    if (!(size < 0x1p127)) {
      // Partial sums may overflow where magnitudes do.
      out.tolerance[i] = std::isnan(truth) ? 0 : std::numeric_limits<double>::infinity();
    } else {
      // The bound, and the rounding of the expected value to a float.
      out.tolerance[i] = bound * kUnit * size * (1 + bound * kUnit) + 0x1p-149 * (bound + 1) +
                         kUnit * std::fabs(truth);
    }
  }
}

void ExpectBits(const Operand& out,
                const std::function<float(std::int64_t m, std::int64_t n)>& element) {
  const std::int64_t columns = out.extents[1];
  for (std::int64_t i = 0; i < out.elements; ++i) {
    static_cast<float*>(out.data)[i] = element(i / columns, i % columns);
    out.tolerance[i] = -1;
  }
}

Operation PlannedOperation(PlannedGemm gemm) {
  Operation operation;
  operation.name = gemm.name;
  operation.dimensions = {{"M"}, {"N"}, {"K"}, {"against", {"plan", "exact"}}};
  operation.dimensions.insert(operation.dimensions.end(), gemm.dimensions.begin(),
                              gemm.dimensions.end());
  operation.shapes = gemm.shapes;
  operation.arguments = {
      {.name = "x", .format = gemm.x_format, .extents = {"M", "K"}},
      {.name = "x_codes", .format = "e8m0", .extents = {"M", "K / 32"}},
      {.name = "w", .format = gemm.w_format, .extents = {"N", "K"}, .negate_second_half = true},
      {.name = "w_codes",
       .format = "e8m0",
       .extents = {gemm.block_scales ? "N / 32" : "N", "K / 32"}},
      {.name = "out",
       .format = "f32",
       .role = Role::kOutput,
       .extents = {"M", "N"},
       .contract = Contract::kWithin},
  };
  operation.data = {Data::kNormal,        Data::kRandomBits, Data::kNan,         Data::kSubnormals,
                    Data::kExtremeScales, Data::kOneHot,     Data::kCancellation};
  operation.reference = [gemm](const Call& call) { return Judge(gemm, call); };
  operation.host = [planned = gemm.planned](const Call& call) {
    const Mx x = MxOf(call, "x", "x_codes"), w = MxOf(call, "w", "w_codes");
    const auto sums = planned(call, x.view(), w.view());
    if (sums.ok()) Store(call, "out", *sums);
    return sums.status();
  };
  return operation;
}

}  // namespace lanewise::differential
