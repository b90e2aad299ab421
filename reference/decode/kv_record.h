#ifndef LANEWISE_REFERENCE_DECODE_KV_RECORD_H_
#define LANEWISE_REFERENCE_DECODE_KV_RECORD_H_

// The key-value record of a token in DeepSeek V4.1's paged cache: 584 bytes.
//
//   block of n tokens   n rows of 576 bytes, then n times 8 bytes:
//     row    448 bytes  e4m3 of values 0 .. 447, a code for 64 of them
//            128 bytes  values 448 .. 511 (the rotated ones) as bf16, little endian
//     codes    7 bytes  e8m0, then one of padding, 0
//
//   code     ceil exponent of max(amax, 1e-4) / maximum, the division IEEE's: the exponent field,
//            plus one where the fraction is not zero
//   element  nearest-even of clamp(x * 2^(127 - code), -maximum, maximum)
// gfx942: e4m3fnuz with maximum 224; gfx950: e4m3fn with maximum 448.
//
//   LANEWISE_ASSIGN_OR_RETURN(const KvRecord record, MakeKvRecord(kv, ElementFormat::kE4m3Fn));
//   std::memcpy(block + KvRecordOffset(slot % n), record.row.data(), record.row.size());
//   std::memcpy(block + KvCodesOffset(slot % n, n), record.codes.data(), record.codes.size());
//
// Source: vLLM's DeepSeek V4.1 mono decode (attention/front.py, stage_qkv).

#include <array>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/quantize/element_format.h"

namespace lanewise::reference {

inline constexpr std::int64_t kKvRowBytes = 576;
inline constexpr std::int64_t kKvCodeBytes = 8;

struct KvRecord {
  std::array<std::uint8_t, kKvRowBytes> row;
  std::array<std::uint8_t, kKvCodeBytes> codes;
};

// The record of 512 values, normed (LatentNorm) and rotated (RopeOfHead), bf16 after each. A block of
// 64 with a NaN or an infinity is NaN: code 255 and NaN elements. (The source's code leaves its byte
// there and spoils the next one's.) InvalidArgument for another number of values, or a format that is
// neither e4m3.
absl::StatusOr<KvRecord> MakeKvRecord(std::span<const Bf16> kv, ElementFormat format);

// Where token `slot` of a block of `tokens` has its row and its codes, in bytes.
constexpr std::int64_t KvRecordOffset(std::int64_t slot) { return kKvRowBytes * slot; }
constexpr std::int64_t KvCodesOffset(std::int64_t slot, std::int64_t tokens) {
  return kKvRowBytes * tokens + kKvCodeBytes * slot;
}

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_DECODE_KV_RECORD_H_
