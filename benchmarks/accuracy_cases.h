#ifndef LANEWISE_BENCHMARKS_ACCURACY_CASES_H_
#define LANEWISE_BENCHMARKS_ACCURACY_CASES_H_

// Every planned GEMM semantics of reference/, ready to be measured against the exact one
// on given operands.

#include <functional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/accuracy.h"
#include "reference/quantize/mx.h"
#include "reference/tensor.h"

namespace lanewise {

// The operands of a measurement, in every form that some semantics takes. M tokens, K a multiple of
// 256, N of 32.
struct AccuracyOperands {
  Tensor<Bf16, 2> x;        // [M, K]
  reference::Quantized w8;  // e4m3fn with 32 x 32 block codes, [N, K]
  reference::Quantized w4;  // e2m1 with row codes, [N, K]
};

// What the numbers look like.
enum class AccuracyData {
  kNormal,      // Activations N(0, 1) with a few large ones, weights N(0, 0.02).
  kWideScales,  // Blocks scaled by powers of two from 2^-20 to 2^20.
  kCancelling,  // The second half of K undoes the first, but for one element a row.
  kWideBlocks,  // Every block holds magnitudes from 2^-14 to 1.
};
std::string_view AccuracyDataName(AccuracyData data);
inline constexpr AccuracyData kAllAccuracyData[] = {
    AccuracyData::kNormal, AccuracyData::kWideScales, AccuracyData::kCancelling,
    AccuracyData::kWideBlocks};

AccuracyOperands MakeAccuracyOperands(AccuracyData data, std::int64_t m, std::int64_t n,
                                      std::int64_t k, unsigned seed);

// Operands with the weight given: OCP e4m3 bytes [N, K] with block codes,
// and activations as kNormal's.
absl::StatusOr<AccuracyOperands> OperandsOfWeight(const reference::Quantized& w8, std::int64_t m,
                                                  unsigned seed);

struct AccuracyCase {
  std::string_view name;
  std::function<absl::StatusOr<reference::Accuracy>(const AccuracyOperands&)> measure;
};
std::span<const AccuracyCase> AccuracyCases();

}  // namespace lanewise

#endif  // LANEWISE_BENCHMARKS_ACCURACY_CASES_H_
