#ifndef LANEWISE_REFERENCE_QUANTIZE_BLOCK_CODE_H_
#define LANEWISE_REFERENCE_QUANTIZE_BLOCK_CODE_H_

// The e8m0 code of a block from its largest magnitude, by each rule of options.h. Everything is
// integer arithmetic on the bits of float32 (kRoundUp's one product and kRoundedLog2's one quotient
// are IEEE float32 operations), so all machines agree.

#include <cstdint>

#include "reference/quantize/options.h"

namespace lanewise::reference {

// The code of a block whose largest magnitude is `amax` (not negative; the sign is ignored). A NaN or
// an infinity gives 255 or 254 by options.non_finite. `options` must be valid
// (ValidateQuantizeOptions).
std::uint8_t BlockCode(float amax, const QuantizeOptions& options);

// What a block's elements are multiplied with before they are rounded: 2^(127 - code), or 0 where
// the policy says so (NonFinite). `code` is BlockCode's, not 255.
float ElementScale(std::uint8_t code, const QuantizeOptions& options);

// ceil of the correctly rounded float32 log2 of x; x positive and finite, subnormals included.
//
// Only one thing can make that differ from ceil(log2(x)): x slightly above 2^e, so that log2(x)
// rounds down to e. With x = 2^e (1 + t 2^-23) that happens where t <= SwallowedUlps(e).
int CeilRoundedLog2(float x);

// The largest t for which log2(2^e (1 + t 2^-23)) rounds to e in float32: 0 for e = -4 .. 3, then 1
// from 4, 2 from 8, 5 from 16, 11 from 32, 22 from 64 on (negative e: from -5, -9, -17, -33, -65
// and, subnormal x only, 44 from -129 on down).
//
// Proof. For e = 0 floats are dense around 0: t = 0. Otherwise the next float above e is e + 2h
// with 2h = 2^(j - 23), where 2^j <= |e| < 2^(j + 1), or 2^j < |e| <= 2^(j + 1) if e is negative
// (the step above a negative e is the step toward zero). log2(1 + t 2^-23), irrational for 0 < t <
// 2^23, never ties, so it rounds away exactly where it is below h: t < 2^23 (2^h - 1) = 2^(j - 1)
// ln 2 (1 + r), 0 < r < h <= 2^-17. The floors of 2^(j - 1) ln 2 = 0.35,
// 0.69, 1.39, 2.77, 5.55, 11.09, 22.18, 44.36 are the table; a factor of 1 + 2^-17 moves none of
// them.
int SwallowedUlps(int e);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_QUANTIZE_BLOCK_CODE_H_
