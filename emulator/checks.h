#ifndef LANEWISE_EMULATOR_CHECKS_H_
#define LANEWISE_EMULATOR_CHECKS_H_

// What the checker looks for. Beside that, accesses outside of every allocation, of LDS or of
// scratch are always errors.

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace lanewise::emulator {

using Checks = uint32_t;
inline constexpr Checks kCheckUninitialised = 1;  // registers and LDS read before they are written
inline constexpr Checks kCheckWaits = 2;          // registers used before s_waitcnt
inline constexpr Checks kCheckRaces = 4;          // LDS shared by waves without a barrier between
inline constexpr Checks kCheckAlignment = 8;      // addresses that are no multiple of the access
inline constexpr Checks kAllChecks = 15;

// "all", "none", or a list of "uninitialised", "waits", "races", "alignment" with commas.
absl::StatusOr<Checks> ParseChecks(std::string_view text);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_CHECKS_H_
