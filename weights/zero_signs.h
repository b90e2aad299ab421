#ifndef LANEWISE_WEIGHTS_ZERO_SIGNS_H_
#define LANEWISE_WEIGHTS_ZERO_SIGNS_H_

// What a conversion discards and nothing else keeps: the signs of zeros. They are stored as one bit
// for each zero-valued element (+0 or -0), 1 for -0, in the order of the plan's rows and, in a row,
// of its elements; rows of padding have none. Bit i is bit i % 8 of byte i / 8, counted from the
// least significant.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weights/tensor_plan.h"

namespace lanewise {

// Whether the plan's conversion discards the signs of zeros.
bool DiscardsZeroSigns(const TensorPlan& plan);

// The bits of the sources. Empty where nothing is discarded.
std::vector<std::uint8_t> ZeroSigns(const TensorPlan& plan, const Sources& sources);

// The bits of rows [begin, end) alone, the first in bit 0, so that a plan of any size can be taken
// a part at a time.
struct ZeroSignBits {
  std::vector<std::uint8_t> bytes;
  std::int64_t count = 0;
};
ZeroSignBits ZeroSignsOfRows(const TensorPlan& plan, const Sources& sources, std::int64_t begin,
                             std::int64_t end);
// How many they are, without making them.
std::int64_t CountZeros(const TensorPlan& plan, const Sources& sources, std::int64_t begin,
                        std::int64_t end);

// Puts the signs of rows [begin, end) back, their first bit being bit `first`. Returns how many
// zeros there were. Bits past the end count as 0.
std::int64_t ApplyZeroSignsToRows(const TensorPlan& plan, std::span<const std::uint8_t> bits,
                                  std::int64_t first, std::int64_t begin, std::int64_t end,
                                  const Sinks& sinks);
// Whether `zeros` signs are what `bits` holds, its last byte's unused bits being 0: InvalidArgument
// if not.
absl::Status CheckZeroSigns(std::span<const std::uint8_t> bits, std::int64_t zeros);

// Puts the signs back into restored sources. InvalidArgument where the number of zeros is not the
// number of bits (up to the last byte's unused ones, which must be 0).
absl::Status ApplyZeroSigns(const TensorPlan& plan, std::span<const std::uint8_t> bits,
                            const Sinks& sinks);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_ZERO_SIGNS_H_
