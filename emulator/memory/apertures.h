#ifndef LANEWISE_EMULATOR_MEMORY_APERTURES_H_
#define LANEWISE_EMULATOR_MEMORY_APERTURES_H_

// Where generic addresses of LDS and of scratch lie: the upper halves of the apertures' bases. Both
// are outside of what a user process of the host can map.

#include <cstdint>

namespace lanewise::emulator {

inline constexpr uint32_t kSharedAperture = 0x00010000;
inline constexpr uint32_t kPrivateAperture = 0x00020000;

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_MEMORY_APERTURES_H_
