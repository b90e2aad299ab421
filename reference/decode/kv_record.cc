#include "reference/decode/kv_record.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "base/status.h"

namespace lanewise::reference {
namespace {

constexpr std::size_t kQuantized = 448;
constexpr std::size_t kBlock = 64;
constexpr std::uint8_t kNanCode = 255;

// The exponent field of a positive normal float32, plus one where its fraction is not zero.
std::uint8_t CeilExponent(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint8_t>((bits >> 23) + ((bits & 0x7FFFFF) != 0 ? 1 : 0));
}

// A block's code; its elements go into `row`.
std::uint8_t QuantizeBlock(std::span<const Bf16> block, ElementFormat format, float maximum,
                           std::uint8_t* row) {
  float amax = 0.0f;
  bool finite = true;
  for (const Bf16 value : block) {
    finite = finite && std::isfinite(value.ToFloat());
    amax = std::max(amax, std::fabs(value.ToFloat()));
  }
  if (!finite) {
    std::fill_n(row, block.size(), NanBits(format));
    return kNanCode;
  }
  const std::uint8_t code = CeilExponent(std::max(amax, 1e-4f) / maximum);
  const float scale = std::ldexp(1.0f, 127 - code);
  for (std::size_t i = 0; i < block.size(); ++i) {
    row[i] = EncodeElement(format, std::clamp(block[i].ToFloat() * scale, -maximum, maximum));
  }
  return code;
}

}  // namespace

absl::StatusOr<KvRecord> MakeKvRecord(std::span<const Bf16> kv, ElementFormat format) {
  constexpr std::size_t kValues = 512;
  if (kv.size() != kValues) {
    return InvalidArgument("a KV record of ", kv.size(), " values, expected ", kValues);
  }
  if (format != ElementFormat::kE4m3Fn && format != ElementFormat::kE4m3Fnuz) {
    return InvalidArgument("a KV record of ", ElementFormatName(format),
                           ", expected e4m3fn or e4m3fnuz");
  }
  const float maximum = format == ElementFormat::kE4m3Fn ? 448.0f : 224.0f;
  KvRecord record = {};
  for (std::size_t first = 0; first < kQuantized; first += kBlock) {
    record.codes[first / kBlock] =
        QuantizeBlock(kv.subspan(first, kBlock), format, maximum, record.row.data() + first);
  }
  for (std::size_t i = kQuantized; i < kValues; ++i) {
    const std::uint16_t bits = kv[i].bits();
    record.row[kQuantized + 2 * (i - kQuantized)] = static_cast<std::uint8_t>(bits & 0xFF);
    record.row[kQuantized + 2 * (i - kQuantized) + 1] = static_cast<std::uint8_t>(bits >> 8);
  }
  return record;
}

}  // namespace lanewise::reference
