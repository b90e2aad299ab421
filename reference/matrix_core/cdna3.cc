#include "reference/matrix_core/cdna3.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace lanewise::cdna3 {
namespace {

constexpr int kPanelWidth = DecodedColumns::kPanelWidth;

// Product exponents from here on leave the plain path: a bf16 product may reach 2^128, or an
// operand is Inf or NaN. No fp8 or f16 product comes near.
constexpr int kUnusualExponent = 127;

// Some consecutive k of one row of A and of kWidth columns of B: a [count], b [count][kWidth].
template <int kWidth>
struct Operands {
  const float* a_significands;
  const std::int16_t* a_exponents;
  const float* b_significands;
  const std::int16_t* b_exponents;
  int count;
};

// For each column the products' maximum exponent `top` and the sum of TZ(p, top - 24), in units of
// 2^(top - 24).
template <int kWidth>
struct ProductSums {
  std::int16_t top[kWidth];
  std::int32_t sum[kWidth];
};

// Over k = first, first + stride, ... of the operands. The shift of each product is a
// multiplication by a power of two and the truncation the conversion to an integer, so that all of
// it runs in vectors on any machine; every step is exact: significands have at most 11 bits, a
// product's magnitude is under 4 * 2^24 after scaling, and at most 8 are summed.
template <int kWidth>
void SumProducts(const Operands<kWidth>& in, int first, int stride, ProductSums<kWidth>& out) {
  std::int16_t top[kWidth];
  std::fill_n(top, kWidth, static_cast<std::int16_t>(2 * kZeroExponent));
  for (int k = first; k < in.count; k += stride) {
    for (int j = 0; j < kWidth; ++j) {
      const std::int16_t exponent = in.a_exponents[k] + in.b_exponents[k * kWidth + j];
      top[j] = top[j] > exponent ? top[j] : exponent;
    }
  }
  std::int32_t sum[kWidth] = {};
  for (int k = first; k < in.count; k += stride) {
    const float a = in.a_significands[k];
    std::int16_t scale_exponent[kWidth];
    for (int j = 0; j < kWidth; ++j) {
      const std::int16_t below = top[j] - (in.a_exponents[k] + in.b_exponents[k * kWidth + j]);
      // From 27 on nothing is left of the product; 100 keeps the scale a normal float.
      scale_exponent[j] = 127 + 24 - (below < 100 ? below : 100);
    }
    for (int j = 0; j < kWidth; ++j) {
      const float scale = std::bit_cast<float>(static_cast<std::int32_t>(scale_exponent[j]) << 23);
      sum[j] += static_cast<std::int32_t>(a * in.b_significands[k * kWidth + j] * scale);
    }
  }
  std::copy_n(top, kWidth, out.top);
  std::copy_n(sum, kWidth, out.sum);
}

// What the Infs and NaNs of one column's products and of c make of the result.
struct Unusual {
  bool nan = false;
  bool infinity[2] = {false, false};  // by sign

  void AddInfinity(bool negative) { infinity[negative] = true; }
  bool Any() const { return nan || infinity[0] || infinity[1]; }
  std::uint32_t Result() const {
    if (nan || (infinity[0] && infinity[1])) return kCanonicalNan;
    return infinity[0] ? 0x7F800000 : 0xFF800000;
  }
};

template <int kWidth>
Unusual FindUnusual(const Operands<kWidth>& in, int column, std::uint32_t c) {
  Unusual found;
  for (int k = 0; k < in.count; ++k) {
    const float a = in.a_significands[k];
    const float b = in.b_significands[k * kWidth + column];
    const int a_exponent = in.a_exponents[k];
    const int b_exponent = in.b_exponents[k * kWidth + column];
    const float significand = a * b;
    if (a_exponent == kNanExponent || b_exponent == kNanExponent) {
      found.nan = true;
    } else if (a_exponent == kInfExponent || b_exponent == kInfExponent) {
      if (significand == 0) {
        found.nan = true;
      } else {
        found.AddInfinity(significand < 0);
      }
    } else {
      // 2^128 takes normal operands, so the significand is in [1, 4).
      const int exponent = a_exponent + b_exponent + (std::fabs(significand) >= 2 ? 1 : 0);
      if (significand != 0 && exponent >= 128) found.AddInfinity(significand < 0);
    }
  }
  if ((c & 0x7FFFFFFF) > 0x7F800000) found.nan = true;
  if ((c & 0x7FFFFFFF) == 0x7F800000) found.AddInfinity(c >> 31);
  return found;
}

constexpr bool IsFinite(std::uint32_t c) { return (c & 0x7F800000) != 0x7F800000; }

// x 2^-count, to minus infinity.
constexpr std::int64_t Floor(std::int64_t x, int count) { return x >> std::min(count, 63); }

// The end of a step: `sum` in units of 2^(top - 24), and c. With kDropSmallC, c counts as zero
// where its exponent is more than 25 below E.
template <bool kDropSmallC>
std::uint32_t AddToC(std::int32_t sum, int top, std::uint32_t c) {
  const int c_field = static_cast<int>(c >> 23 & 0xFF);
  const std::int32_t c_magnitude =
      static_cast<std::int32_t>((c & 0x7FFFFF) | (c_field == 0 ? 0 : 0x800000));
  const std::int32_t c_significand =
      c >> 31 ? -c_magnitude : c_magnitude;  // of 2^(c_exponent - 23)
  const int c_exponent = std::max(c_field, 1) - 127;
  const int e = std::max(top, c_exponent);

  // In units of 2^(e - 32).
  const std::int64_t products = Floor(static_cast<std::int64_t>(sum) * 256, e - top);
  std::int64_t c_part = Floor(static_cast<std::int64_t>(c_significand) * 2, e - c_exponent) * 256;
  if (kDropSmallC && c_exponent < e - 25) c_part = 0;
  const std::int64_t s = products + c_part;
  if (s == 0) return 0;

  // floor(log2|s|) = e - 32 + bits - 1; what lies more than 31 below it, or below 2^-157, is
  // dropped.
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(s < 0 ? -s : s)));
  const int drop = std::max({bits - 32, -125 - e, 0});
  // At most 33 bits are left and the exponent is far inside double's range, so the one rounding is
  // the conversion to float: nearest-even, subnormals and overflow included.
  const double unit = std::bit_cast<double>(static_cast<std::uint64_t>(e - 32 + drop + 1023) << 52);
  return std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<double>(s >> drop) * unit));
}

// One step of 8 products.
template <int kWidth>
void StepOf16BitOperands(const Operands<kWidth>& in, std::uint32_t* accumulators) {
  ProductSums<kWidth> products;
  SumProducts(in, 0, 1, products);
  for (int j = 0; j < kWidth; ++j) {
    const std::uint32_t c = accumulators[j];
    if (products.top[j] >= kUnusualExponent || !IsFinite(c)) {
      if (const Unusual unusual = FindUnusual(in, j, c); unusual.Any()) {
        accumulators[j] = unusual.Result();
        continue;
      }
    }
    accumulators[j] = AddToC<false>(products.sum[j], products.top[j], c);
  }
}

// One step of 16 products.
template <int kWidth>
void StepOf8BitOperands(const Operands<kWidth>& in, std::uint32_t* accumulators) {
  ProductSums<kWidth> even;
  ProductSums<kWidth> odd;
  SumProducts(in, 0, 2, even);
  SumProducts(in, 1, 2, odd);
  for (int j = 0; j < kWidth; ++j) {
    const std::uint32_t c = accumulators[j];
    const int top = std::max(even.top[j], odd.top[j]);
    if (top >= kUnusualExponent || !IsFinite(c)) {
      if (const Unusual unusual = FindUnusual(in, j, c); unusual.Any()) {
        accumulators[j] = unusual.Result();
        continue;
      }
    }
    const std::int64_t sum =
        Floor(even.sum[j], top - even.top[j]) + Floor(odd.sum[j], top - odd.top[j]);
    accumulators[j] = AddToC<true>(static_cast<std::int32_t>(sum), top, c);
  }
}

std::uint32_t FusedMultiplyAdd(float a, float b, std::uint32_t c) {
  const float d = std::fma(a, b, std::bit_cast<float>(c));
  if (std::isnan(d)) return kCanonicalNan;
  // Exactly zero, not a product that underflows: fma gives -0 where both terms are -0.
  if (d == 0 && (a == 0 || b == 0)) return 0;
  return std::bit_cast<std::uint32_t>(d);
}

template <int kWidth>
void StepOfFloats(const Operands<kWidth>& in, std::uint32_t* accumulators) {
  for (int j = 0; j < kWidth; ++j) {
    accumulators[j] = FusedMultiplyAdd(in.a_significands[0], in.b_significands[j], accumulators[j]);
  }
}

constexpr int ProductsPerStep(OperandFormat format) {
  switch (ElementBytes(format)) {
    case 1:
      return 16;
    case 2:
      return 8;
    default:
      return 1;
  }
}

template <int kWidth>
void Step(OperandFormat format, const Operands<kWidth>& in, std::uint32_t* accumulators) {
  switch (ElementBytes(format)) {
    case 1:
      return StepOf8BitOperands(in, accumulators);
    case 2:
      return StepOf16BitOperands(in, accumulators);
    default:
      return StepOfFloats(in, accumulators);
  }
}

// One block of a float32 instruction, whose operands need no decoding.
void ExecuteFloats(const MatrixInstruction& instruction, const unsigned char* a,
                   const unsigned char* b, const std::uint32_t* c, std::uint32_t* d) {
  const std::int64_t n = instruction.n;
  const std::int64_t k_count = instruction.k;
  for (std::int64_t row = 0; row < instruction.m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      std::uint32_t accumulator = c[row * n + column];
      for (std::int64_t k = 0; k < k_count; ++k) {
        accumulator =
            FusedMultiplyAdd(ValueAt(OperandFormat::kF32, a, row * k_count + k),
                             ValueAt(OperandFormat::kF32, b, k * n + column), accumulator);
      }
      d[row * n + column] = accumulator;
    }
  }
}

// One block of any other.
void ExecuteBlock(const MatrixInstruction& instruction, const unsigned char* a,
                  const unsigned char* b, const std::uint32_t* c, std::uint32_t* d) {
  const std::int64_t n = instruction.n;
  const std::int64_t k = instruction.k;
  const DecodedRows rows({instruction.a, a, instruction.m, k, k, 1});
  const DecodedColumns columns({instruction.b, b, n, k, 1, n});
  for (std::int64_t row = 0; row < instruction.m; ++row) {
    for (std::int64_t panel = 0; panel < columns.panels(); ++panel) {
      const std::int64_t first = panel * kPanelWidth;
      const std::int64_t width = std::min<std::int64_t>(kPanelWidth, n - first);
      std::uint32_t accumulators[kPanelWidth] = {};
      std::copy_n(c + row * n + first, width, accumulators);
      Accumulate(rows, row, columns, panel, 0, k, accumulators);
      std::copy_n(accumulators, width, d + row * n + first);
    }
  }
}

}  // namespace

void Accumulate(const DecodedRows& a, std::int64_t row, const DecodedColumns& b, std::int64_t panel,
                std::int64_t k_begin, std::int64_t k_end, std::uint32_t accumulators[kPanelWidth]) {
  const int step = ProductsPerStep(a.format());
  for (std::int64_t k = k_begin; k < k_end; k += step) {
    Step(a.format(),
         Operands<kPanelWidth>{a.significands(row) + k, a.exponents(row) + k,
                               b.significands(panel) + k * kPanelWidth,
                               b.exponents(panel) + k * kPanelWidth,
                               static_cast<int>(std::min<std::int64_t>(step, k_end - k))},
         accumulators);
  }
}

void Execute(const MatrixInstruction& instruction, const void* a, const void* b,
             const std::uint32_t* c, std::uint32_t* d) {
  const auto* a_block = static_cast<const unsigned char*>(a);
  const auto* b_block = static_cast<const unsigned char*>(b);
  const std::int64_t m = instruction.m;
  const std::int64_t n = instruction.n;
  for (int block = 0; block < instruction.blocks; ++block) {
    const bool floats = instruction.a == OperandFormat::kF32;
    (floats ? ExecuteFloats : ExecuteBlock)(instruction, a_block, b_block, c, d);
    a_block += m * instruction.k * ElementBytes(instruction.a);
    b_block += n * instruction.k * ElementBytes(instruction.b);
    c += m * n;
    d += m * n;
  }
}

std::uint32_t DotAccumulate(OperandFormat a_format, OperandFormat b_format, const void* a,
                            const void* b, std::int64_t k, std::uint32_t c) {
  constexpr int kMostProducts = 16;
  const int step = ProductsPerStep(a_format);
  float a_significands[kMostProducts];
  float b_significands[kMostProducts];
  std::int16_t a_exponents[kMostProducts];
  std::int16_t b_exponents[kMostProducts];
  for (std::int64_t k_begin = 0; k_begin < k; k_begin += step) {
    const int count = static_cast<int>(std::min<std::int64_t>(step, k - k_begin));
    for (int i = 0; i < count; ++i) {
      const DecodedElement from_a = DecodeAt(a_format, a, k_begin + i);
      const DecodedElement from_b = DecodeAt(b_format, b, k_begin + i);
      a_significands[i] = from_a.significand;
      a_exponents[i] = from_a.exponent;
      b_significands[i] = from_b.significand;
      b_exponents[i] = from_b.exponent;
    }
    Step(a_format, Operands<1>{a_significands, a_exponents, b_significands, b_exponents, count},
         &c);
  }
  return c;
}

}  // namespace lanewise::cdna3
