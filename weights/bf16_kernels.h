#ifndef LANEWISE_WEIGHTS_BF16_KERNELS_H_
#define LANEWISE_WEIGHTS_BF16_KERNELS_H_

// bf16_rows by SIMD, where nothing rounds: between e4m3 bytes and the bf16 that are exactly value x
// 2^(code - 127), both normal. There the two pairs of bf16_rows are one.

#include <cstdint>

namespace lanewise {

// What is converted together, in elements; a multiple of it is always a place to stop at.
inline constexpr std::int64_t kBf16Group = 64;

// Elements `at`, a multiple of kBf16Group, and on of a row of `count`, until the end or the first
// group that holds anything else: a value that is not exactly e4m3 x code, a NaN, a code outside 10
// .. 246, or fewer than kBf16Group elements. Returns where it stopped. Bytes from there on are
// unspecified up to the end of the group.
std::int64_t ExactBf16ToE4m3(const std::uint8_t* bf16, const std::uint8_t* codes,
                             std::int64_t code_elements, std::int64_t at, std::int64_t count,
                             std::uint8_t* e4m3);
// With `streaming`, stores to a `bf16` that is aligned to 64 go past the caches: call StreamFence
// (weights/block_kernels.h) after the last row.
std::int64_t ExactE4m3ToBf16(const std::uint8_t* e4m3, const std::uint8_t* codes,
                             std::int64_t code_elements, std::int64_t at, std::int64_t count,
                             bool streaming, std::uint8_t* bf16);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_BF16_KERNELS_H_
