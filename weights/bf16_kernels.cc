#include "weights/bf16_kernels.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/bf16_kernels.cc"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

// No registers of a size known here: everything is the caller's.
std::int64_t Bf16ToE4m3Impl(const std::uint8_t*, const std::uint8_t*, std::int64_t, std::int64_t at,
                            std::int64_t, std::uint8_t*) {
  return at;
}
std::int64_t E4m3ToBf16Impl(const std::uint8_t*, const std::uint8_t*, std::int64_t, std::int64_t at,
                            std::int64_t, bool, std::uint8_t*) {
  return at;
}

#else

namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::CappedTag<std::uint8_t, kBf16Group>;
using Halves = hn::Repartition<std::uint16_t, Bytes>;
using HalfBytes = hn::Half<Bytes>;
constexpr Bytes kBytes;
constexpr Halves kHalves;
constexpr HalfBytes kHalfBytes;
constexpr std::int64_t kStep = static_cast<std::int64_t>(hn::MaxLanes(Bytes()));
static_assert(kBf16Group % kStep == 0);

// A bf16 without its sign is exponent << 7 | mantissa. The 11 bits exponent << 3 | mantissa >> 4 of
// an e4m3 value under a code are those of the byte plus 8 (code - 7), if the byte is normal: its
// bias is 7, both biases of the bf16 and the code are 127. A subnormal byte m has them 16, 8 or 4
// below or at the byte's own place:
//   m          1    2   3   4  5  6  7
//   11 bits  -16   -8  -4   0  2  4  6      plus 8 (code - 7)
// `place` counts from 24 below 8 (code - 7), so that it fits a byte: 8 .. 31 is subnormal, 32 ..
// 150 is the byte 8 .. 126; 0 stands for a zero, and no value is at 1 .. 7.
constexpr int kPlaceOfByte = 24;
constexpr std::uint8_t kNone = 0x80;  // no byte is at this place
alignas(16) constexpr std::uint8_t kByteAt0[16] = {0,     kNone, kNone, kNone, kNone, kNone,
                                                   kNone, kNone, 1,     kNone, kNone, kNone,
                                                   kNone, kNone, kNone, kNone};
alignas(16) constexpr std::uint8_t kByteAt16[16] = {2, kNone, kNone, kNone, 3, kNone, kNone, kNone,
                                                    4, kNone, 5,     kNone, 6, kNone, 7,     kNone};
alignas(16) constexpr std::uint8_t kPlaceOf[16] = {0, 8, 16, 20, 24, 26, 28, 30};

// The rows that are read are asked for two pages ahead, into the L2 cache.
constexpr std::int64_t kAhead = 8192;

constexpr bool HasRoom(std::uint8_t code) { return code >= 10 && code <= 246; }

// The code over each step of a row.
class CodeCursor {
 public:
  CodeCursor(const std::uint8_t* codes, std::int64_t code_elements, std::int64_t at)
      : code_(codes + at / code_elements),
        code_elements_(code_elements),
        left_(code_elements - at % code_elements) {}

  // The code of the next `elements`, a divisor of 32.
  HWY_INLINE std::uint8_t Next(std::int64_t elements) {
    const std::uint8_t code = *code_;
    left_ -= elements;
    if (left_ == 0) {
      ++code_;
      left_ = code_elements_;
    }
    return code;
  }

 private:
  const std::uint8_t* code_;
  std::int64_t code_elements_;
  std::int64_t left_;
};

// How far the 11 bits of a code's values are from their places.
HWY_INLINE std::uint16_t PlaceZero(std::uint8_t code) {
  return static_cast<std::uint16_t>(8 * (code - 7) - kPlaceOfByte);
}

// The places of values; 1 for what is too small to have one, more than 150 for what is too large.
HWY_INLINE hn::Vec<Halves> Places(hn::Vec<Halves> bf16, std::uint8_t code) {
  const auto bits = hn::ShiftRight<4>(hn::And(bf16, hn::Set(kHalves, 0x7FFF)));
  // Below zero wraps to far above.
  const auto place = hn::Sub(bits, hn::Set(kHalves, PlaceZero(code)));
  const auto at_least_1 = hn::Max(place, hn::Set(kHalves, 1));
  return hn::Min(hn::IfThenZeroElse(hn::Eq(bits, hn::Zero(kHalves)), at_least_1),
                 hn::Set(kHalves, 0xFF));
}

std::int64_t Bf16ToE4m3Impl(const std::uint8_t* HWY_RESTRICT bf16,
                            const std::uint8_t* HWY_RESTRICT codes, std::int64_t code_elements,
                            std::int64_t at, std::int64_t count, std::uint8_t* HWY_RESTRICT e4m3) {
  const auto byte_at_0 = hn::LoadDup128(kBytes, kByteAt0);
  const auto byte_at_16 = hn::LoadDup128(kBytes, kByteAt16);
  CodeCursor cursor(codes, code_elements, at);
  for (; at + kBf16Group <= count; at += kBf16Group) {
    auto dropped = hn::Zero(kHalves);  // mantissa bits that an e4m3 has not
    auto largest = hn::Zero(kBytes);
    bool room = true;
    for (std::int64_t i = at; i < at + kBf16Group; i += kStep) {
      __builtin_prefetch(bf16 + 2 * i + kAhead, /*rw=*/0, /*locality=*/2);
      __builtin_prefetch(bf16 + 2 * i + kAhead + kStep, /*rw=*/0, /*locality=*/2);
      const auto low = hn::BitCast(kHalves, hn::LoadU(kBytes, bf16 + 2 * i));
      const auto high = hn::BitCast(kHalves, hn::LoadU(kBytes, bf16 + 2 * i + kStep));
      const std::uint8_t low_code = cursor.Next(kStep / 2), high_code = cursor.Next(kStep / 2);
      room = room && HasRoom(low_code) && HasRoom(high_code);
      dropped = hn::Or(dropped, hn::Or(low, high));
      const auto place = hn::ConcatEven(kBytes, hn::BitCast(kBytes, Places(high, high_code)),
                                        hn::BitCast(kBytes, Places(low, low_code)));
      const auto in_table = hn::And(place, hn::Set(kBytes, 15));
      const auto subnormal = hn::IfThenElse(hn::Lt(place, hn::Set(kBytes, 16)),
                                            hn::TableLookupBytes(byte_at_0, in_table),
                                            hn::TableLookupBytes(byte_at_16, in_table));
      const auto byte = hn::IfThenElse(hn::Lt(place, hn::Set(kBytes, 32)), subnormal,
                                       hn::Sub(place, hn::Set(kBytes, kPlaceOfByte)));
      largest = hn::Max(largest, byte);
      const auto sign =
          hn::And(hn::ConcatOdd(kBytes, hn::BitCast(kBytes, high), hn::BitCast(kBytes, low)),
                  hn::Set(kBytes, 0x80));
      hn::StoreU(hn::Or(byte, sign), kBytes, e4m3 + i);
    }
    const bool exact = hn::AllTrue(kHalves, hn::Eq(hn::And(dropped, hn::Set(kHalves, 0x000F)),
                                                   hn::Zero(kHalves))) &&
                       hn::AllTrue(kBytes, hn::Lt(largest, hn::Set(kBytes, 0x7F)));
    if (!room || !exact) return at;
  }
  return at;
}

// bf16 of the places, without signs.
HWY_INLINE hn::Vec<Halves> FromPlaces(hn::Vec<Halves> place, std::uint8_t code) {
  const auto bits = hn::Add(place, hn::Set(kHalves, PlaceZero(code)));
  return hn::IfThenZeroElse(hn::Eq(place, hn::Zero(kHalves)), hn::ShiftLeft<4>(bits));
}

std::int64_t E4m3ToBf16Impl(const std::uint8_t* HWY_RESTRICT e4m3,
                            const std::uint8_t* HWY_RESTRICT codes, std::int64_t code_elements,
                            std::int64_t at, std::int64_t count, bool streaming,
                            std::uint8_t* HWY_RESTRICT bf16) {
  streaming = streaming && reinterpret_cast<std::uintptr_t>(bf16) % 64 == 0;
  const auto place_of = hn::LoadDup128(kBytes, kPlaceOf);
  CodeCursor cursor(codes, code_elements, at);
  for (; at + kBf16Group <= count; at += kBf16Group) {
    auto largest = hn::Zero(kBytes);
    bool room = true;
    for (std::int64_t i = at; i < at + kBf16Group; i += kStep) {
      const auto byte = hn::LoadU(kBytes, e4m3 + i);
      const auto magnitude = hn::And(byte, hn::Set(kBytes, 0x7F));
      const auto sign = hn::And(byte, hn::Set(kBytes, 0x80));
      largest = hn::Max(largest, magnitude);
      const auto subnormal = hn::TableLookupBytes(place_of, hn::And(byte, hn::Set(kBytes, 7)));
      const auto place = hn::IfThenElse(hn::Lt(magnitude, hn::Set(kBytes, 8)), subnormal,
                                        hn::Add(magnitude, hn::Set(kBytes, kPlaceOfByte)));
      const std::uint8_t low_code = cursor.Next(kStep / 2), high_code = cursor.Next(kStep / 2);
      room = room && HasRoom(low_code) && HasRoom(high_code);
      const auto low =
          hn::Or(FromPlaces(hn::PromoteTo(kHalves, hn::LowerHalf(kHalfBytes, place)), low_code),
                 hn::ShiftLeft<8>(hn::PromoteTo(kHalves, hn::LowerHalf(kHalfBytes, sign))));
      const auto high =
          hn::Or(FromPlaces(hn::PromoteTo(kHalves, hn::UpperHalf(kHalfBytes, place)), high_code),
                 hn::ShiftLeft<8>(hn::PromoteTo(kHalves, hn::UpperHalf(kHalfBytes, sign))));
      if (streaming) {
        hn::Stream(hn::BitCast(kBytes, low), kBytes, bf16 + 2 * i);
        hn::Stream(hn::BitCast(kBytes, high), kBytes, bf16 + 2 * i + kStep);
      } else {
        hn::StoreU(hn::BitCast(kBytes, low), kBytes, bf16 + 2 * i);
        hn::StoreU(hn::BitCast(kBytes, high), kBytes, bf16 + 2 * i + kStep);
      }
    }
    if (!room || !hn::AllTrue(kBytes, hn::Lt(largest, hn::Set(kBytes, 0x7F)))) return at;
  }
  return at;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lanewise {

HWY_EXPORT(Bf16ToE4m3Impl);
HWY_EXPORT(E4m3ToBf16Impl);

std::int64_t ExactBf16ToE4m3(const std::uint8_t* bf16, const std::uint8_t* codes,
                             std::int64_t code_elements, std::int64_t at, std::int64_t count,
                             std::uint8_t* e4m3) {
  return HWY_DYNAMIC_DISPATCH(Bf16ToE4m3Impl)(bf16, codes, code_elements, at, count, e4m3);
}
std::int64_t ExactE4m3ToBf16(const std::uint8_t* e4m3, const std::uint8_t* codes,
                             std::int64_t code_elements, std::int64_t at, std::int64_t count,
                             bool streaming, std::uint8_t* bf16) {
  return HWY_DYNAMIC_DISPATCH(E4m3ToBf16Impl)(e4m3, codes, code_elements, at, count, streaming,
                                              bf16);
}

}  // namespace lanewise
#endif  // HWY_ONCE
