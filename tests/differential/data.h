#ifndef LANEWISE_TESTS_DIFFERENTIAL_DATA_H_
#define LANEWISE_TESTS_DIFFERENTIAL_DATA_H_

// Fills inputs with each kind of data.

#include <cstdint>
#include <random>
#include <string_view>

#include "tests/differential/operation.h"

namespace lanewise::differential {

// Element `index` of an array of elements of 4 (two a byte, the even one low), 8, 16 or 32 bits.
std::uint32_t GetBits(int bits, const void* data, std::int64_t index);
void SetBits(int bits, void* data, std::int64_t index, std::uint32_t code);

// The number that a code stands for; of "u8" and the like the code itself.
double CodeValue(std::string_view format, std::uint32_t code);
bool IsNanCode(std::string_view format, std::uint32_t code);

// Fills the operand, host memory, as the argument says: by its own generator or by format.
void Fill(Data data, const Operand& operand, const Call& call, std::mt19937_64& random);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_DATA_H_
