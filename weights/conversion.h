#ifndef LANEWISE_WEIGHTS_CONVERSION_H_
#define LANEWISE_WEIGHTS_CONVERSION_H_

// What happens to the elements of a row between its place in a checkpoint and prepared memory, and
// what is to be known of it without running it: how large an element is, whether the packer does it
// while bytes move, and what does not come back.
//
//   if (TraitsOf(plan.conversion).loss == Loss::kZeroSigns) ...   // keep zero_signs.h's bits

#include <cstdint>

#include "weights/rewrite.h"

namespace lanewise {

// K is the row's element count.
enum class Conversion {
  kNone,                  // bytes as they are
  kE4m3ToFnuz,            // K bytes; -0 becomes +0, see Rewrite
  kE2m1DropNegativeZero,  // K / 2 bytes; -0 nibbles become +0
  kScaleCode,             // codes; each raised by code_increment and repeated code_repeat times
  kBf16ToE4m3,  // K bf16, dequantized from e4m3 and scale codes -> the K e4m3 bytes behind them
  kBf16ToFnuz,  // kBf16ToE4m3, then kE4m3ToFnuz
  kE4m3ToBf16,  // K e4m3 bytes and scale codes -> K bf16, value x 2^(code - 127), nearest even
};

// What undoing a conversion does not bring back.
enum class Loss {
  kNothing,
  kZeroSigns,  // -0 became +0: zero_signs.h keeps which
  kValues,     // rounded: only the original rows themselves keep them
};

struct ConversionTraits {
  int source_bits = 8;  // of an element at its place
  Rewrite rewrite = Rewrite::kNone;
  // Rows are computed into a buffer, and not moved byte by byte with `rewrite` on the way alone.
  bool computed = false;
  Loss loss = Loss::kNothing;
};

constexpr ConversionTraits TraitsOf(Conversion conversion) {
  switch (conversion) {
    case Conversion::kNone:
      return {};
    case Conversion::kE4m3ToFnuz:
      return {8, Rewrite::kE4m3ToFnuz, false, Loss::kZeroSigns};
    case Conversion::kE2m1DropNegativeZero:
      return {4, Rewrite::kE2m1DropNegativeZero, false, Loss::kZeroSigns};
    case Conversion::kScaleCode:
      return {8, Rewrite::kNone, true, Loss::kNothing};
    case Conversion::kBf16ToE4m3:
      return {16, Rewrite::kNone, true, Loss::kNothing};
    case Conversion::kBf16ToFnuz:
      return {16, Rewrite::kE4m3ToFnuz, true, Loss::kZeroSigns};
    case Conversion::kE4m3ToBf16:
      return {8, Rewrite::kNone, true, Loss::kValues};
  }
  return {};
}

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_CONVERSION_H_
