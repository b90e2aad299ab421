#ifndef LANEWISE_CHECKPOINT_SYNTHESIZE_SYNTHESIZE_VALUES_H_
#define LANEWISE_CHECKPOINT_SYNTHESIZE_SYNTHESIZE_VALUES_H_

// Random bytes that are values of a format, from a counter: the bytes of a tensor follow from its
// key and their place alone, so any thread can make any part of it, in any order.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "checkpoint/safetensors/dtype.h"

namespace lanewise {

enum class SyntheticValues : uint8_t {
  kE4m3,          // any byte but the two NaNs; zeros of both signs are among them
  kE2m1,          // any byte: two elements
  kCodes,         // E8M0 codes 110 .. 125, a byte each
  kFoldingCodes,  // the same, equal for each 32 rows: row codes that fold to 32 x 32 blocks
  kBf16,          // +-2^-9 up to +-2^-1, exponents alike
  kF32,           // the same
};

// The word of a model's table: "e4m3", "e2m1", "codes", "folding_codes", "bf16", "f32".
std::string_view SyntheticValuesName(SyntheticValues values);
std::optional<SyntheticValues> SyntheticValuesFromName(std::string_view name);

// What a tensor of that dtype holds where nothing is said, or nothing where it has to be said (U8
// and I8, which are packed e2m1 or codes).
std::optional<SyntheticValues> DefaultSyntheticValues(DType dtype);

// Whether a tensor of that dtype can hold them.
bool CanHold(DType dtype, SyntheticValues values);

// The key of a tensor's bytes, from the checkpoint's seed and the tensor's name.
std::uint64_t SyntheticKey(std::uint64_t seed, std::string_view tensor);

// Bytes [offset, offset + bytes.size()) of a tensor. `row_bytes`, of kFoldingCodes alone, is the
// size of its innermost dimension.
void FillSynthetic(SyntheticValues values, std::uint64_t key, std::int64_t row_bytes,
                   std::int64_t offset, std::span<std::uint8_t> bytes);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SYNTHESIZE_SYNTHESIZE_VALUES_H_
