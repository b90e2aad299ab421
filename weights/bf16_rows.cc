#include "weights/bf16_rows.h"

#include <algorithm>
#include <array>
#include <bit>

#include "formats/formats.h"
#include "weights/bf16_kernels.h"

namespace lanewise {
namespace {

Bf16 LoadBf16(const std::uint8_t* bytes) {
  return Bf16::FromBits(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
}

void StoreBf16(Bf16 value, std::uint8_t* bytes) {
  bytes[0] = static_cast<std::uint8_t>(value.bits());
  bytes[1] = static_cast<std::uint8_t>(value.bits() >> 8);
}

constexpr std::array<float, 256> E4m3Values() {
  std::array<float, 256> values{};
  for (int i = 0; i < 256; ++i) {
    values[i] = E4m3Fn::FromBits(static_cast<std::uint8_t>(i)).ToFloat();
  }
  return values;
}
constexpr std::array<float, 256> kE4m3Value = E4m3Values();

// 2^(127 - code) in binary32; the last two are subnormal.
constexpr std::array<float, 256> Multipliers() {
  std::array<float, 256> values{};
  for (int code = 0; code < 254; ++code) {
    values[code] = std::bit_cast<float>(static_cast<std::uint32_t>(254 - code) << 23);
  }
  values[254] = std::bit_cast<float>(std::uint32_t{1} << 22);
  values[255] = std::bit_cast<float>(std::uint32_t{1} << 21);
  return values;
}
constexpr std::array<float, 256> kMultiplier = Multipliers();

constexpr std::array<float, 256> E8m0Values() {
  std::array<float, 256> values{};
  for (int code = 0; code < 256; ++code) {
    values[code] = E8m0::FromBits(static_cast<std::uint8_t>(code)).ToFloat();
  }
  return values;
}
constexpr std::array<float, 256> kE8m0Value = E8m0Values();

Bf16 Dequantized(std::uint8_t byte, std::uint8_t code) {
  return Bf16::FromFloat(kE4m3Value[byte] * kE8m0Value[code]);
}

void Note(std::int64_t at, WrongValues* wrong) {
  if (wrong->count++ == 0) wrong->first = at;
}

// Converts a row's groups by `exact` as far as it goes, and each group at which it stops by
// `element`, one by one.
template <class Exact, class Element>
void ConvertGroups(std::int64_t count, const Exact& exact, const Element& element) {
  for (std::int64_t i = 0; i < count;) {
    i = exact(i);
    const std::int64_t end = std::min(i + kBf16Group, count);
    for (; i < end; ++i) element(i);
  }
}

}  // namespace

WrongValues OcpFromDequantRow(const std::uint8_t* bf16, const std::uint8_t* codes,
                              std::int64_t code_elements, std::int64_t count, std::uint8_t* e4m3) {
  WrongValues wrong;
  ConvertGroups(
      count,
      [&](std::int64_t at) { return ExactBf16ToE4m3(bf16, codes, code_elements, at, count, e4m3); },
      [&](std::int64_t i) {
        const float m = kMultiplier[codes[i / code_elements]];
        const float w = LoadBf16(bf16 + 2 * i).ToFloat();
        e4m3[i] = E4m3Fn::FromFloat(w * m).bits();
        if (!(Bf16::FromFloat(kE4m3Value[e4m3[i]] / m).ToFloat() == w)) Note(i, &wrong);
      });
  return wrong;
}

void UndoOcpFromDequantRow(const std::uint8_t* e4m3, const std::uint8_t* codes,
                           std::int64_t code_elements, std::int64_t count, bool streaming,
                           std::uint8_t* bf16) {
  ConvertGroups(
      count,
      [&](std::int64_t at) {
        return ExactE4m3ToBf16(e4m3, codes, code_elements, at, count, streaming, bf16);
      },
      [&](std::int64_t i) {
        StoreBf16(Bf16::FromFloat(kE4m3Value[e4m3[i]] / kMultiplier[codes[i / code_elements]]),
                  bf16 + 2 * i);
      });
}

void DequantizeRow(const std::uint8_t* e4m3, const std::uint8_t* codes, std::int64_t code_elements,
                   std::int64_t count, std::uint8_t* bf16) {
  ConvertGroups(
      count,
      [&](std::int64_t at) {
        return ExactE4m3ToBf16(e4m3, codes, code_elements, at, count, /*streaming=*/false, bf16);
      },
      [&](std::int64_t i) {
        StoreBf16(Dequantized(e4m3[i], codes[i / code_elements]), bf16 + 2 * i);
      });
}

WrongValues UndoDequantizeRow(const std::uint8_t* bf16, const std::uint8_t* codes,
                              std::int64_t code_elements, std::int64_t count, std::uint8_t* e4m3) {
  WrongValues wrong;
  ConvertGroups(
      count,
      [&](std::int64_t at) { return ExactBf16ToE4m3(bf16, codes, code_elements, at, count, e4m3); },
      [&](std::int64_t i) {
        const std::uint8_t code = codes[i / code_elements];
        const Bf16 w = LoadBf16(bf16 + 2 * i);
        e4m3[i] =
            code == 255
                ? 0x7F
                : E4m3Fn::FromFloat(w.ToFloat() * kMultiplier[code], Overflow::kSaturate).bits();
        const Bf16 back = Dequantized(e4m3[i], code);
        if (back.bits() != w.bits() && !(back.IsNan() && w.IsNan())) Note(i, &wrong);
      });
  return wrong;
}

}  // namespace lanewise
