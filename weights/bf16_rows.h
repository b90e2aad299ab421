#ifndef LANEWISE_WEIGHTS_BF16_ROWS_H_
#define LANEWISE_WEIGHTS_BF16_ROWS_H_

// One row between bf16 (little-endian, K of them) and e4m3 bytes under scale codes, one for each
// `code_elements` elements, a multiple of 32. Rows do not overlap. The two pairs differ where the
// seeds do: at the ends of the scale's range.

#include <cstdint>

namespace lanewise {

// What a row that cannot be taken back holds: how many values, and the index of the first.
struct WrongValues {
  std::int64_t count = 0;
  std::int64_t first = -1;
};

// Seed 000, ocp_from_dequant, with m = 2^(127 - code) in binary32 (2^-128 for code 255):
// q = e4m3(w m), NaN above 464; a value is wrong unless bf16(q / m) == w as numbers.
WrongValues OcpFromDequantRow(const std::uint8_t* bf16, const std::uint8_t* codes,
                              std::int64_t code_elements, std::int64_t count, std::uint8_t* e4m3);
// bf16(q / m). With `streaming`, stores to a `bf16` that is aligned to 64 go past the caches: call
// StreamFence (weights/block_kernels.h) after the last row.
void UndoOcpFromDequantRow(const std::uint8_t* e4m3, const std::uint8_t* codes,
                           std::int64_t code_elements, std::int64_t count, bool streaming,
                           std::uint8_t* bf16);

// Seed 001, dequant_mxfp8_to_bf16: the nearest bf16 of value x 2^(code - 127); code 255 gives NaN.
void DequantizeRow(const std::uint8_t* e4m3, const std::uint8_t* codes, std::int64_t code_elements,
                   std::int64_t count, std::uint8_t* bf16);
// A byte that DequantizeRow makes the value of; 0x7F under code 255. Wrong is a value of which
// there is no such byte.
WrongValues UndoDequantizeRow(const std::uint8_t* bf16, const std::uint8_t* codes,
                              std::int64_t code_elements, std::int64_t count, std::uint8_t* e4m3);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_BF16_ROWS_H_
