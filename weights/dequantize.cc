#include "weights/dequantize.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/dequantize.cc"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Words = hn::RebindToUnsigned<Floats>;
using FloatVector = hn::Vec<Floats>;
using WordVector = hn::Vec<Words>;

// Elements that are taken at a time.
constexpr std::int64_t kChunk = 32;

// Where the fields of an element lie in its byte (or nibble), and what it has beside numbers.
template <ElementFormat element>
struct Fields {
  static constexpr bool kFnuz =
      element == ElementFormat::kE4m3Fnuz || element == ElementFormat::kE5m2Fnuz;
  static constexpr bool kE5 =
      element == ElementFormat::kE5m2 || element == ElementFormat::kE5m2Fnuz;
  static constexpr bool kNibble = element == ElementFormat::kE2m1;
  static constexpr int kFraction = kNibble ? 1 : kE5 ? 2 : 3;
  static constexpr int kBias = kNibble ? 1 : (kE5 ? 15 : 7) + (kFnuz ? 1 : 0);
  static constexpr int kSignPlace = kNibble ? 3 : 7;
  static constexpr std::uint32_t kSign = std::uint32_t{1} << kSignPlace;
  static constexpr std::uint32_t kMagnitude = kSign - 1;
  static constexpr std::uint32_t kSmallestNormal = std::uint32_t{1} << kFraction;
  // The value of one in the fraction's last place below the smallest normal.
  static constexpr float kStep = 1.0f / static_cast<float>(1 << (kBias - 1 + kFraction));
};

// 32 values, bits of `Value`, of 32 elements that lie in a byte each.
template <ElementFormat element, class Value>
HWY_INLINE void Chunk(const std::uint8_t* bits, float scale, Value* values) {
  using F = Fields<element>;
  const Floats floats;
  const Words words;
  const hn::Rebind<std::uint8_t, Floats> bytes;
  const FloatVector nan = hn::Set(floats, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < kChunk; i += hn::Lanes(floats)) {
    const WordVector raw = hn::PromoteTo(words, hn::LoadU(bytes, bits + i));
    const WordVector magnitude = hn::And(raw, hn::Set(words, F::kMagnitude));
    const WordVector sign =
        hn::ShiftLeft<31 - F::kSignPlace>(hn::And(raw, hn::Set(words, F::kSign)));
    // The fields in a float's places, its exponent for the element's.
    const FloatVector normal = hn::BitCast(
        floats, hn::Add(hn::ShiftLeft<23 - F::kFraction>(magnitude),
                        hn::Set(words, static_cast<std::uint32_t>(127 - F::kBias) << 23)));
    const FloatVector subnormal =
        hn::Mul(hn::ConvertTo(floats, hn::BitCast(hn::RebindToSigned<Floats>(), magnitude)),
                hn::Set(floats, F::kStep));
    const auto is_subnormal =
        hn::RebindMask(floats, hn::Lt(magnitude, hn::Set(words, F::kSmallestNormal)));
    FloatVector x = hn::IfThenElse(is_subnormal, subnormal, normal);
    const auto set_nan = [&](auto where) {
      x = hn::IfThenElse(hn::RebindMask(floats, where), nan, x);
    };
    if constexpr (F::kFnuz) {
      set_nan(hn::Eq(raw, hn::Set(words, F::kSign)));
    } else if constexpr (element == ElementFormat::kE4m3Fn) {
      set_nan(hn::Eq(magnitude, hn::Set(words, std::uint32_t{0x7F})));
    } else if constexpr (element == ElementFormat::kE5m2) {
      const WordVector infinity = hn::Set(words, std::uint32_t{0x7C});
      x = hn::IfThenElse(hn::RebindMask(floats, hn::Eq(magnitude, infinity)),
                         hn::Set(floats, std::numeric_limits<float>::infinity()), x);
      set_nan(hn::Gt(magnitude, infinity));
    }
    x = hn::BitCast(floats, hn::Or(hn::BitCast(words, x), sign));
    const FloatVector y = hn::Mul(x, hn::Set(floats, scale));
    const auto is_nan = hn::RebindMask(words, hn::IsNaN(y));
    const WordVector exact = hn::BitCast(words, y);
    if constexpr (sizeof(Value) == 4) {
      hn::Store(hn::IfThenElse(is_nan, hn::Set(words, std::uint32_t{0x7FC00000}), exact), words,
                values + i);
    } else {
      const WordVector odd = hn::And(hn::ShiftRight<16>(exact), hn::Set(words, std::uint32_t{1}));
      const WordVector rounded =
          hn::ShiftRight<16>(hn::Add(exact, hn::Add(odd, hn::Set(words, std::uint32_t{0x7FFF}))));
      const hn::Rebind<std::uint16_t, Floats> halves;
      hn::Store(
          hn::DemoteTo(
              halves,
              hn::BitCast(hn::RebindToSigned<Floats>(),
                          hn::IfThenElse(is_nan, hn::Set(words, std::uint32_t{0x7FC0}), rounded))),
          halves, values + i);
    }
  }
}

// Nibbles to bytes, the low one first.
HWY_INLINE void Unpack(const std::uint8_t* packed, std::uint8_t* bits) {
  const hn::CappedTag<std::uint8_t, kChunk / 2> bytes;
  for (std::size_t i = 0; i < kChunk / 2; i += hn::Lanes(bytes)) {
    const auto pair = hn::LoadU(bytes, packed + i);
    hn::StoreInterleaved2(hn::And(pair, hn::Set(bytes, std::uint8_t{0xF})), hn::ShiftRight<4>(pair),
                          bytes, bits + 2 * i);
  }
}

// `count` elements of one code.
template <ElementFormat element, class Value>
HWY_INLINE void Run(const std::uint8_t* elements, std::int64_t count, float scale,
                    std::uint8_t* values) {
  HWY_ALIGN Value made[kChunk];
  HWY_ALIGN std::uint8_t bits[kChunk];
  for (std::int64_t i = 0; i < count; i += kChunk) {
    const std::int64_t here = std::min(kChunk, count - i);
    const std::uint8_t* from = elements + ElementBytes(element, i);
    if (here < kChunk) {
      HWY_ALIGN std::uint8_t filled[kChunk] = {};
      std::memcpy(filled, from, static_cast<std::size_t>(ElementBytes(element, here)));
      std::memcpy(bits, filled, sizeof(bits));
      from = bits;
    }
    if constexpr (element == ElementFormat::kE2m1) {
      HWY_ALIGN std::uint8_t nibbles[kChunk];
      Unpack(from, nibbles);
      Chunk<element>(nibbles, scale, made);
    } else {
      Chunk<element>(from, scale, made);
    }
    std::memcpy(values + i * static_cast<std::int64_t>(sizeof(Value)), made,
                static_cast<std::size_t>(here) * sizeof(Value));
  }
}

template <ElementFormat element, class Value>
void Row(const std::uint8_t* elements, std::int64_t k, std::int64_t code_columns,
         const std::uint8_t* codes, std::uint8_t* values) {
  for (std::int64_t column = 0; column < k; column += code_columns) {
    const int code = *codes++;
    const float scale = code == 255 ? std::numeric_limits<float>::quiet_NaN()
                        : code == 0 ? 0x1p-127f
                                    : std::bit_cast<float>(static_cast<std::uint32_t>(code) << 23);
    Run<element, Value>(elements + ElementBytes(element, column),
                        std::min(code_columns, k - column), scale,
                        values + column * static_cast<std::int64_t>(sizeof(Value)));
  }
}

template <ElementFormat element>
void RowTo(const std::uint8_t* elements, std::int64_t k, std::int64_t code_columns,
           const std::uint8_t* codes, FloatType to, std::uint8_t* values) {
  if (to == FloatType::kF32) {
    return Row<element, std::uint32_t>(elements, k, code_columns, codes, values);
  }
  return Row<element, std::uint16_t>(elements, k, code_columns, codes, values);
}

void RowImpl(const std::uint8_t* elements, ElementFormat element, std::int64_t k,
             std::int64_t code_columns, const std::uint8_t* codes, FloatType to,
             std::uint8_t* values) {
  switch (element) {
    case ElementFormat::kE4m3Fn:
      return RowTo<ElementFormat::kE4m3Fn>(elements, k, code_columns, codes, to, values);
    case ElementFormat::kE4m3Fnuz:
      return RowTo<ElementFormat::kE4m3Fnuz>(elements, k, code_columns, codes, to, values);
    case ElementFormat::kE5m2:
      return RowTo<ElementFormat::kE5m2>(elements, k, code_columns, codes, to, values);
    case ElementFormat::kE5m2Fnuz:
      return RowTo<ElementFormat::kE5m2Fnuz>(elements, k, code_columns, codes, to, values);
    case ElementFormat::kE2m1:
      return RowTo<ElementFormat::kE2m1>(elements, k, code_columns, codes, to, values);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lanewise {

HWY_EXPORT(RowImpl);

absl::Status DequantizeRows(std::span<const std::uint8_t> elements, ElementFormat element,
                            std::int64_t rows, std::int64_t k, MxCodeBlock block,
                            std::span<const std::uint8_t> codes, FloatType to,
                            std::span<std::uint8_t> values) {
  const auto refuse = [&](const auto&... problem) {
    return absl::InvalidArgumentError(absl::StrCat("dequantizing ", rows, " x ", k, " elements, ",
                                                   "a code for ", block.rows, " x ", block.columns,
                                                   ": ", problem...));
  };
  if (rows < 0 || k < 0 || block.rows < 1 || block.columns < 1) return refuse("not sizes");
  if (element == ElementFormat::kE2m1 && (k % 2 != 0 || block.columns % 2 != 0)) {
    return refuse("two e2m1 elements share a byte, so columns go in pairs");
  }
  if (to == FloatType::kF16) return refuse("to F16, which holds few of the values");
  const std::int64_t row_bytes = ElementBytes(element, k);
  const std::int64_t row_codes = block.Columns(k);
  const std::int64_t value_bytes = k * FloatBytes(to);
  if (std::ssize(elements) != rows * row_bytes || std::ssize(values) != rows * value_bytes ||
      std::ssize(codes) != block.Rows(rows) * row_codes) {
    return refuse("given ", elements.size(), " bytes of elements, ", codes.size(), " codes and ",
                  values.size(), " bytes for values; expected ", rows * row_bytes, ", ",
                  block.Rows(rows) * row_codes, " and ", rows * value_bytes);
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    HWY_DYNAMIC_DISPATCH(RowImpl)
    (elements.data() + row * row_bytes, element, k, block.columns,
     codes.data() + row / block.rows * row_codes, to, values.data() + row * value_bytes);
  }
  return absl::OkStatus();
}

}  // namespace lanewise
#endif  // HWY_ONCE
