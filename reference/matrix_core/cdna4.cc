#include "reference/matrix_core/cdna4.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "formats/formats.h"
#include "reference/exact/accumulator.h"
#include "reference/exact/rounding.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/decoded.h"

namespace lanewise::cdna4 {
namespace {

// Columns that are worked on together.
constexpr std::int64_t kPanelWidth = 16;
constexpr std::uint8_t kScaleOne = 127;
constexpr std::uint8_t kScaleNan = 255;

constexpr int MantissaBits(OperandFormat format) {
  switch (format) {
    case OperandFormat::kE4m3Fn:
      return E4m3Fn::kMantissaBits;
    case OperandFormat::kE5m2:
      return E5m2::kMantissaBits;
    case OperandFormat::kE2m3:
      return E2m3::kMantissaBits;
    case OperandFormat::kE3m2:
      return E3m2::kMantissaBits;
    case OperandFormat::kE2m1:
      return E2m1::kMantissaBits;
    case OperandFormat::kE4m3Fnuz:
      return E4m3Fnuz::kMantissaBits;
    case OperandFormat::kE5m2Fnuz:
      return E5m2Fnuz::kMantissaBits;
    case OperandFormat::kBf16:
      return Bf16::kMantissaBits;
    case OperandFormat::kF16:
      return F16::kMantissaBits;
    case OperandFormat::kF32:
    case OperandFormat::kF8f6f4:
      break;
  }
  return 23;
}

// The least and the greatest floor(log2|x|) of some numbers that are not zero (float32 subnormals:
// -126).
struct ExponentRange {
  int low = 1024;
  int high = -1024;

  void Add(float x) {
    if (x == 0) return;
    const int field = static_cast<int>(std::bit_cast<std::uint32_t>(x) >> 23 & 0xFF);
    const int exponent = std::max(field, 1) - 127;
    low = std::min(low, exponent);
    high = std::max(high, exponent);
  }
};

// Whether any sum of k products of numbers in these ranges is exact in double: all are multiples of
// 2^(low - fraction_bits), `fraction_bits` those of both formats together, each is below 2^(high +
// 2), so every partial sum is below k 2^(high + 2) and needs the bits between.
bool SumIsExact(const ExponentRange& a, const ExponentRange& b, int fraction_bits, std::int64_t k) {
  const int low = a.low + b.low - fraction_bits;
  const int high =
      a.high + b.high + 2 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(k - 1)));
  return high - low <= 53;
}

// The same sum where double does not hold it.
float AddExactDot(const float* a, const float* b, std::int64_t b_stride, std::int64_t k,
                  int exponent, float c) {
  ExactAccumulator sum;
  sum.AddDouble(c);
  for (std::int64_t i = 0; i < k; ++i) {
    sum.AddDouble(static_cast<double>(a[i]) * b[i * b_stride], exponent);
  }
  return sum.ToFloat();
}

// The operands of one block of an instruction, as numbers: A [m][k], and B in panels [k][16] whose
// missing columns are zero. With each row's and column's range of exponents over each `step` of k.
class Operands {
 public:
  Operands(const MatrixInstruction& instruction, OperandFormat a_format, OperandFormat b_format,
           const unsigned char* a_bits, const unsigned char* b_bits, std::int64_t step)
      : k_(instruction.k),
        steps_(instruction.k / step),
        fraction_bits_(MantissaBits(a_format) + MantissaBits(b_format)),
        step_(step),
        a_(instruction.m * k_),
        b_((instruction.n + kPanelWidth - 1) / kPanelWidth * kPanelWidth * k_),
        a_ranges_(a_.size() / step),
        b_ranges_(b_.size() / step) {
    for (std::int64_t row = 0; row < instruction.m; ++row) {
      for (std::int64_t k = 0; k < k_; ++k) {
        const float value = ValueAt(a_format, a_bits, row * k_ + k);
        a_[row * k_ + k] = value;
        a_ranges_[row * steps_ + k / step].Add(value);
      }
    }
    for (std::int64_t k = 0; k < k_; ++k) {
      for (std::int64_t column = 0; column < instruction.n; ++column) {
        const float value = ValueAt(b_format, b_bits, k * instruction.n + column);
        const std::int64_t panel = column / kPanelWidth;
        const std::int64_t j = column % kPanelWidth;
        b_[(panel * k_ + k) * kPanelWidth + j] = value;
        b_ranges_[(panel * steps_ + k / step) * kPanelWidth + j].Add(value);
      }
    }
  }

  std::int64_t steps() const { return steps_; }

  // For the first `columns` j of a panel:
  // d[j] = RNE32(d[j] + exact sum over one step's k of a[row][k] b[k][j] * 2^exponents[j]).
  void AddStep(std::int64_t step, std::int64_t row, std::int64_t panel, std::int64_t columns,
               const int* exponents, float* d) const {
    const float* const a = &a_[row * k_ + step * step_];
    const float* const b = &b_[(panel * k_ + step * step_) * kPanelWidth];
    double sums[kPanelWidth] = {};
    for (std::int64_t k = 0; k < step_; ++k) {
      const double factor = a[k];
      for (std::int64_t j = 0; j < kPanelWidth; ++j) sums[j] += factor * b[k * kPanelWidth + j];
    }
    const ExponentRange& a_range = a_ranges_[row * steps_ + step];
    const ExponentRange* const b_ranges = &b_ranges_[(panel * steps_ + step) * kPanelWidth];
    for (std::int64_t j = 0; j < columns; ++j) {
      d[j] = SumIsExact(a_range, b_ranges[j], fraction_bits_, step_)
                 ? AddScaled(d[j], sums[j], exponents[j])
                 : AddExactDot(a, b + j, kPanelWidth, step_, exponents[j], d[j]);
    }
  }

 private:
  std::int64_t k_;
  std::int64_t steps_;
  int fraction_bits_;
  std::int64_t step_;
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<ExponentRange> a_ranges_;  // [m][step]
  std::vector<ExponentRange> b_ranges_;  // [panel][step][16]
};

// D = C + A B for one block of an instruction, with one rounding a step of k.
void ExecuteSteps(const MatrixInstruction& instruction, const Operands& operands,
                  const BlockScales& scales, const std::uint32_t* c, std::uint32_t* d) {
  const std::int64_t n = instruction.n;
  for (std::int64_t row = 0; row < instruction.m; ++row) {
    for (std::int64_t first = 0; first < n; first += kPanelWidth) {
      const std::int64_t columns = std::min(kPanelWidth, n - first);
      float accumulators[kPanelWidth];
      for (std::int64_t j = 0; j < columns; ++j) {
        accumulators[j] = std::bit_cast<float>(c[row * n + first + j]);
      }
      for (std::int64_t step = 0; step < operands.steps(); ++step) {
        const int a_code =
            scales.a == nullptr ? kScaleOne : scales.a[row * operands.steps() + step];
        int exponents[kPanelWidth];
        for (std::int64_t j = 0; j < columns; ++j) {
          const int b_code = scales.b == nullptr ? kScaleOne : scales.b[step * n + first + j];
          exponents[j] = a_code + b_code - 2 * kScaleOne;
          if (a_code == kScaleNan || b_code == kScaleNan) {
            accumulators[j] = std::numeric_limits<float>::quiet_NaN();
          }
        }
        operands.AddStep(step, row, first / kPanelWidth, columns, exponents, accumulators);
      }
      for (std::int64_t j = 0; j < columns; ++j) {
        d[row * n + first + j] = std::isnan(accumulators[j])
                                     ? kCanonicalNan
                                     : std::bit_cast<std::uint32_t>(accumulators[j]);
      }
    }
  }
}

}  // namespace

void Execute(const MatrixInstruction& instruction, const void* a, const void* b,
             const std::uint32_t* c, std::uint32_t* d) {
  // CDNA3's float32 arithmetic is the contract's.
  if (instruction.a == OperandFormat::kF32) return cdna3::Execute(instruction, a, b, c, d);
  const Operands operands(instruction, instruction.a, instruction.b,
                          static_cast<const unsigned char*>(a),
                          static_cast<const unsigned char*>(b), instruction.k);
  ExecuteSteps(instruction, operands, {}, c, d);
}

void ExecuteF8f6f4(const MatrixInstruction& instruction, OperandFormat a_format,
                   OperandFormat b_format, const std::uint8_t* a, const std::uint8_t* b,
                   const BlockScales& scales, const std::uint32_t* c, std::uint32_t* d) {
  const Operands operands(instruction, a_format, b_format, a, b, kScaleBlock);
  ExecuteSteps(instruction, operands, scales, c, d);
}

float AddDot(OperandFormat a_format, OperandFormat b_format, const float* a, const float* b, int k,
             int exponent, float c) {
  ExponentRange a_range;
  ExponentRange b_range;
  double sum = 0;
  for (int i = 0; i < k; ++i) {
    a_range.Add(a[i]);
    b_range.Add(b[i]);
    sum += static_cast<double>(a[i]) * b[i];
  }
  return SumIsExact(a_range, b_range, MantissaBits(a_format) + MantissaBits(b_format), k)
             ? AddScaled(c, sum, exponent)
             : AddExactDot(a, b, 1, k, exponent, c);
}

}  // namespace lanewise::cdna4
