#ifndef LANEWISE_EMULATOR_LAUNCH_RANDOM_H_
#define LANEWISE_EMULATOR_LAUNCH_RANDOM_H_

#include <cstdint>

namespace lanewise::emulator {

// The SplitMix64 generator (Steele, Lea, Flood 2014): the same numbers everywhere for a seed.
struct SplitMix {
  uint64_t state = 0;

  uint64_t Next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // 0 .. bound - 1.
  uint64_t Below(uint64_t bound) { return Next() % bound; }

  // A length of a turn: mostly about the usual one, now and then 64 times as long.
  uint64_t Turn(uint64_t usual) { return 1 + Below(usual << Below(7)); }
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LAUNCH_RANDOM_H_
