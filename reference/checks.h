#ifndef LANEWISE_REFERENCE_CHECKS_H_
#define LANEWISE_REFERENCE_CHECKS_H_

// Checks beyond those of the seeds' functions. Without them a preparation accepts and refuses
// exactly what its seed does; the command turns them all on. Each refuses with the first coordinate
// at fault.

#include <cstdint>

namespace lanewise::reference {

// Scale codes from here on are refused by a copy for gfx942: a kernel adds the weight's and the
// activation's code into one exponent field, which such a code overflows.
inline constexpr std::int64_t kFirstRefusedCode = 250;

struct Checks {
  // OCP NaN bytes (0x7F, 0xFF) in a dense copy: read as FNUZ they would be +-240, finite numbers.
  bool nan_bytes = false;
  // Codes of 250 and more, 0xFF (NaN) among them, where the seed does not look: in the expert
  // copies.
  bool large_codes = false;
  // Padding that the seed cuts off without looking and that is not zero: scale codes outside of
  // [N, K / 32].
  bool padding = false;

  static constexpr Checks All() { return {true, true, true}; }
};

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_CHECKS_H_
