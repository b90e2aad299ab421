#include "reference/matrix_core/draws.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace lanewise {
namespace {

// Ways to draw an element of A or B.
enum Way : std::uint8_t {
  kAny,
  kFinite,
  kNearOne,
  kSubnormal,
  kUnderflow,
  kSparse,
  kCancelling,
  kOutlier,
  kLarge,
  kWays
};
constexpr const char* kWayNames[] = {
    "any bits",          "finite",    "near 1",       "subnormal", "products underflow", "sparse",
    "pairs that cancel", "one large", "near overflow"};

struct Fields {
  int exponent_bits;
  int mantissa_bits;
};

Fields FieldsOf(OperandFormat format) {
  switch (format) {
    case OperandFormat::kE4m3Fn:
    case OperandFormat::kE4m3Fnuz:
      return {4, 3};
    case OperandFormat::kE5m2:
    case OperandFormat::kE5m2Fnuz:
      return {5, 2};
    case OperandFormat::kE2m3:
      return {2, 3};
    case OperandFormat::kE3m2:
      return {3, 2};
    case OperandFormat::kE2m1:
      return {2, 1};
    case OperandFormat::kBf16:
      return {8, 7};
    case OperandFormat::kF16:
      return {5, 10};
    case OperandFormat::kF32:
    case OperandFormat::kF8f6f4:
      break;
  }
  return {8, 23};
}

double ValueOf(OperandFormat format, std::uint32_t code) {
  if (format == OperandFormat::kF32) return std::bit_cast<float>(code);
  return TwinDecode(format, code).value;
}

}  // namespace

std::uint32_t OperandDraws::Code(OperandFormat format, int way) {
  const Fields fields = FieldsOf(format);
  const int fields_bits = fields.exponent_bits + fields.mantissa_bits;
  const auto any = static_cast<std::uint32_t>(random_());
  const std::uint32_t sign = (any >> 31) << fields_bits;
  const std::uint32_t mantissa = any & ((1u << fields.mantissa_bits) - 1);
  const int fields_top = (1 << fields.exponent_bits) - 1;
  int field = 0;
  switch (way) {
    case kNearOne:
      field = fields_top / 2 - 1 + Below(3);
      break;
    case kSubnormal:
      field = Below(2);
      break;
    case kUnderflow:  // of float32, in the formats that come so low
      field = fields.exponent_bits == 8 ? fields_top / 2 - 63 - Below(20) : Below(3);
      break;
    case kOutlier:
      field = Below(fields_top / 3 + 1);
      break;
    case kLarge:
      field = fields_top - 1 - Below(2);
      break;
    case kSparse:
      if (Below(4) != 0) return 0;
      field = Below(fields_top + 1);
      break;
    default:
      field = Below(fields_top + 1);
  }
  const std::uint32_t code =
      sign | static_cast<std::uint32_t>(field) << fields.mantissa_bits | mantissa;
  if (way == kAny || std::isfinite(ValueOf(format, code))) return code;
  return Code(format, way);
}

// Makes the products of k + 2 the negatives of those of k (of the same parity, so of the same group
// of an fp8 step), but for one k in eight.
void OperandDraws::Cancel(MatrixOperands& operands) {
  const Fields fields = FieldsOf(b_format_);
  const std::uint32_t sign = 1u << (fields.exponent_bits + fields.mantissa_bits);
  const std::int64_t k = instruction_.k;
  const std::int64_t n = instruction_.n;
  for (std::int64_t to = 2; to < k; ++to) {
    if (to % 4 < 2 || Below(8) == 0) continue;
    for (std::int64_t row = 0; row < std::int64_t{instruction_.m} * instruction_.blocks; ++row) {
      operands.a[row * k + to] = operands.a[row * k + to - 2];
    }
    for (std::int64_t block = 0; block < instruction_.blocks; ++block) {
      for (std::int64_t column = 0; column < n; ++column) {
        const std::uint32_t from = operands.b[(block * k + to - 2) * n + column];
        // FNUZ has no -0 to take.
        operands.b[(block * k + to) * n + column] =
            ValueOf(b_format_, from) == 0 ? from : from ^ sign;
      }
    }
  }
}

MatrixOperands OperandDraws::DrawAAndB() {
  MatrixOperands operands;
  const int a_way = Below(kWays);
  const int b_way = Below(3) == 0 ? Below(kWays) : a_way;
  operands.what = std::string("A: ") + kWayNames[a_way] + ", B: " + kWayNames[b_way];
  const std::int64_t k = instruction_.k;
  const std::int64_t m = std::int64_t{instruction_.blocks} * instruction_.m;
  const std::int64_t n = std::int64_t{instruction_.blocks} * instruction_.n;
  operands.a.resize(m * k);
  operands.b.resize(k * n);
  operands.c.resize(m * instruction_.n);
  // A step has 8 or 16 products, so one k in 8 is large.
  const int outlier = Below(8);
  for (std::size_t i = 0; i < operands.a.size(); ++i) {
    const bool large = a_way == kOutlier && static_cast<int>(i) % instruction_.k % 8 == outlier;
    operands.a[i] = Code(a_format_, large ? kLarge : a_way);
  }
  for (std::uint32_t& code : operands.b)
    code = Code(b_format_, b_way == kOutlier ? kFinite : b_way);
  if (a_way == kCancelling) Cancel(operands);
  return operands;
}

std::uint32_t OperandDraws::CElement(int top, std::uint32_t d_of_zero_c) {
  const auto any = static_cast<std::uint32_t>(random_());
  const std::uint32_t sign = any & 0x80000000;
  // All zeros and all ones make the ties and the near ties.
  const std::uint32_t mantissas[] = {0, 0x7FFFFF, 1, any & 0x7FFFFF, any & 0x7FFFFF};
  const std::uint32_t mantissa = mantissas[Below(5)];
  const int d_field = static_cast<int>(d_of_zero_c >> 23 & 0xFF);
  int field = 0;
  switch (Below(10)) {
    case 0:
      return sign;
    case 1:
      return any;
    case 2:  // subnormals and their neighbours
      return sign | (any & 0x00FFFFFF);
    case 3:  // to overflow, or nearly
      return sign | 0x7F000000 | mantissa;
    case 4:  // cancels, but for a last place or two
      return (d_of_zero_c ^ 0x80000000) + static_cast<std::uint32_t>(Below(5)) - 2;
    case 5:  // a half, quarter, ... of d's last place, exactly
      field = d_field - 24 - Below(3);
      return sign | static_cast<std::uint32_t>(std::clamp(field, 0, 254)) << 23;
    case 6:  // so far above d that d is a half of its last place, or near that
      field = d_field + 22 + Below(4);
      return sign | static_cast<std::uint32_t>(std::clamp(field, 0, 254)) << 23 | mantissa;
    default:
      field = top + 127 + Below(81) - 40;
      return sign | static_cast<std::uint32_t>(std::clamp(field, 0, 254)) << 23 | mantissa;
  }
}

void OperandDraws::DrawC(MatrixOperands& operands, const std::vector<std::uint32_t>& d_of_zero_c,
                         int scale_exponent) {
  const std::int64_t k = instruction_.k;
  const std::int64_t n = instruction_.n;
  std::vector<double> a;
  std::vector<double> b;
  a.reserve(operands.a.size());
  b.reserve(operands.b.size());
  for (const std::uint32_t code : operands.a) a.push_back(std::fabs(ValueOf(a_format_, code)));
  for (const std::uint32_t code : operands.b) b.push_back(std::fabs(ValueOf(b_format_, code)));
  for (std::size_t i = 0; i < operands.c.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % n;
    const std::int64_t row = static_cast<std::int64_t>(i) / n;
    const std::int64_t block = row / instruction_.m;
    double largest = 0;
    for (std::int64_t step = 0; step < k; ++step) {
      const double product = a[row * k + step] * b[(block * k + step) * n + column];
      if (std::isfinite(product)) largest = std::max(largest, product);
    }
    const int top = largest == 0 ? -126 : std::ilogb(largest) + scale_exponent;
    operands.c[i] = CElement(top, d_of_zero_c[i]);
  }
}

std::vector<std::uint8_t> Pack(OperandFormat format, const std::vector<std::uint32_t>& codes) {
  const auto bytes = static_cast<std::size_t>(ElementBytes(format));
  std::vector<std::uint8_t> packed(codes.size() * bytes);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      packed[i * bytes + byte] = static_cast<std::uint8_t>(codes[i] >> (8 * byte));
    }
  }
  return packed;
}

}  // namespace lanewise
