#include "reference/gemm/hardware_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/exact/rounding.h"

namespace lanewise::reference {
namespace {

using Int128 = __int128;

// Fixed point with 62 fraction bits.
constexpr int kFraction = 62;
constexpr std::int64_t kOne = std::int64_t{1} << kFraction;
// ln 2 and 1 / ln 2 with as many, rounded.
constexpr std::int64_t kLn2 = 3196577161300663915;
constexpr std::int64_t kLog2E = 6653256548922161246;

std::int64_t Multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>((static_cast<Int128>(a) * b) >> kFraction);
}

// magnitude * 2^exponent to float32.
float Nearest(bool negative, std::uint64_t magnitude, int exponent) {
  return std::bit_cast<float>(
      RoundBits<RoundTo::kFloat32>(negative, magnitude, exponent, /*more=*/false));
}

// e^y * 2^n, |y| < 0.4 in fixed point.
float ExpScaled(std::int64_t y, int n) {
  std::int64_t sum = kOne;
  std::int64_t term = kOne;
  for (int i = 1; term != 0 && i < 40; ++i) {
    term = Multiply(term, y) / i;
    sum += term;
  }
  return Nearest(false, static_cast<std::uint64_t>(sum), n - kFraction);
}

}  // namespace

float Exp2(float x) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  if (x >= 128.0f) return std::numeric_limits<float>::infinity();
  if (x < -150.0f) return 0.0f;
  // 2^x is nearer to 1 than to its neighbours.
  if (std::fabs(x) < 0x1p-25f) return 1.0f;
  // What is left of x is a multiple of 2^-48, at most a half.
  const double n = std::nearbyint(static_cast<double>(x));
  const auto rest = static_cast<std::int64_t>(std::ldexp(x - n, 48));
  const auto y = static_cast<std::int64_t>((static_cast<Int128>(rest) * kLn2) >> 48);
  return ExpScaled(y, static_cast<int>(n));
}

float Exp(float x) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  if (x > 89.0f) return std::numeric_limits<float>::infinity();
  if (x < -105.0f) return 0.0f;
  if (std::fabs(x) < 0x1p-25f) return 1.0f;
  // x has no bits below 2^-48; y = x - n ln 2 is taken with 100 fraction bits, because n is up to
  // 152.
  constexpr Int128 kWideLn2 = (Int128{47632711549} << 64) + std::uint64_t{2087307087208724864u};
  const double n = std::nearbyint(static_cast<double>(x) * 1.4426950408889634);
  const auto fixed = static_cast<std::int64_t>(std::ldexp(static_cast<double>(x), 48));
  const Int128 y = (static_cast<Int128>(fixed) << 52) - static_cast<Int128>(n) * kWideLn2;
  return ExpScaled(static_cast<std::int64_t>(y >> (100 - kFraction)), static_cast<int>(n));
}

float Log2(float x) {
  if (std::isnan(x) || x < 0.0f) return std::numeric_limits<float>::quiet_NaN();
  if (x == 0.0f) return -std::numeric_limits<float>::infinity();
  if (std::isinf(x)) return x;
  // x = m * 2^(e - 23), m a 24-bit integer that is nearest to 2^23 in ratio: within sqrt(2).
  int e;
  const float fraction = std::frexp(x, &e);
  auto m = static_cast<std::int64_t>(std::ldexp(fraction, 24));
  constexpr std::int64_t kUnit = std::int64_t{1} << 23;
  constexpr std::int64_t kSqrt2 = 11863283;  // sqrt(2) * 2^23
  --e;
  std::int64_t unit = kUnit;
  if (m > kSqrt2) {  // Count from the power of two above.
    ++e;
    unit = 2 * kUnit;
  }
  if (m == unit) return static_cast<float>(e);
  // log2(m / unit) = 2 / ln 2 * (s + s^3 / 3 + s^5 / 5 ...), s = (m - unit) / (m + unit), |s| <
  // 0.172.
  const std::int64_t numerator = m - unit;
  const std::int64_t denominator = m + unit;
  const auto s =
      static_cast<std::int64_t>((static_cast<Int128>(numerator) << kFraction) / denominator);
  const std::int64_t square = Multiply(s, s);
  std::int64_t sum = 0;
  std::int64_t power = kOne;
  for (int i = 1; power != 0 && i < 60; i += 2) {
    sum += power / i;
    power = Multiply(power, square);
  }
  const std::int64_t ratio = Multiply(sum, kLog2E);  // log2(m / unit) / (2 s)
  const bool negative = numerator < 0;
  const auto magnitude = static_cast<unsigned __int128>(negative ? -numerator : numerator);
  // With 40 bits more than the fixed point's, so that a small logarithm keeps its relative
  // precision.
  constexpr int kMore = 40;
  const auto part =
      static_cast<Int128>((2 * magnitude * static_cast<std::uint64_t>(ratio) << kMore) /
                          static_cast<std::uint64_t>(denominator));
  const Int128 log = (static_cast<Int128>(e) << (kFraction + kMore)) + (negative ? -part : part);
  const auto size = static_cast<unsigned __int128>(log < 0 ? -log : log);
  const int dropped = std::bit_width(static_cast<std::uint64_t>(size >> 64));
  return Nearest(log < 0, static_cast<std::uint64_t>(size >> dropped), dropped - kFraction - kMore);
}

float Reciprocal(float x) { return 1.0f / x; }

float ReciprocalSquareRoot(float x) {
  if (std::isnan(x) || x < 0.0f) return std::numeric_limits<float>::quiet_NaN();
  if (x == 0.0f) return std::copysign(std::numeric_limits<float>::infinity(), x);
  if (std::isinf(x)) return 0.0f;
  // x = m 2^e with e even and m in [2^23, 2^25): the root is between 2^-12.5 and 2^-11.5 times
  // 2^(-e / 2).
  int e;
  const float fraction = std::frexp(x, &e);
  auto m = static_cast<std::uint64_t>(std::ldexp(fraction, 24));
  e -= 24;
  if (e % 2 != 0) {
    m *= 2;
    --e;
  }
  // The largest r with r^2 m <= 2^98, that is floor(2^49 / sqrt(m)), of 37 bits: more than the 24
  // that are kept, and what is left of the root says that it is not exact.
  std::uint64_t r = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 38; bit != 0; bit /= 2) {
    const std::uint64_t next = r + bit;
    const auto square = static_cast<unsigned __int128>(next) * next;
    if (square * m <= static_cast<unsigned __int128>(1) << 98) r = next;
  }
  const auto square = static_cast<unsigned __int128>(r) * r;
  const bool more = square * m != static_cast<unsigned __int128>(1) << 98;
  const int zeros = std::countl_zero(r);
  return std::bit_cast<float>(
      RoundBits<RoundTo::kFloat32>(false, r << zeros, -49 - e / 2 - zeros, more));
}

}  // namespace lanewise::reference
