#ifndef LANEWISE_WEIGHTS_BIT_NETWORK_H_
#define LANEWISE_WEIGHTS_BIT_NETWORK_H_

// A permutation of bytes among 2^s registers of 2^b bytes each that only permutes the bits of the
// byte's index: what every layout of power-of-two factors does to a tile.
//
// Register bit k (of the register's number) is exchanged with one position inside the registers, in
// the order k = 0, 1, ..., s - 1; before each exchange and after the last, every register's bytes
// are permuted alike. SIMD units have all of it: two-register interleaves and concatenations, byte
// shuffles in 16-byte blocks, and permutations of 4-byte words.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace lanewise {

inline constexpr int kMaxVectorBits = 6;  // 64 bytes
inline constexpr int kMaxVectorBytes = 1 << kMaxVectorBits;

// One permutation within a register: bytes within each 16-byte block, then 4-byte words anywhere,
// then bytes within blocks again. Steps that are not needed are off. Where a machine permutes bytes
// anywhere in one step, byte_of is all of it.
struct RegisterPermutation {
  bool any() const { return first_bytes || words || last_bytes; }
  bool first_bytes = false;
  bool words = false;
  bool last_bytes = false;
  // out[16 block + i] = in[16 block + table[16 block + i]]
  std::array<std::uint8_t, kMaxVectorBytes> first_byte_of = {};
  std::array<std::uint32_t, kMaxVectorBytes / 4> word_of = {};
  std::array<std::uint8_t, kMaxVectorBytes> last_byte_of = {};
  // out[i] = in[byte_of[i]]
  std::array<std::uint8_t, kMaxVectorBytes> byte_of = {};
};

// Exchanges and permutations in the order that packing runs them; `inverse` undoes them, its
// exchanges running from s - 1 down to 0.
struct BitNetwork {
  int vector_bits = 0;         // b
  int register_bits = 0;       // s
  std::vector<int> exchanged;  // the position that register bit k is exchanged with; 3 or more
  std::vector<RegisterPermutation> permute;  // s + 1: before exchange 0, ..., after the last
  std::vector<RegisterPermutation> inverse;  // of permute[i]
};

// The network that brings bits into place. A bit is any number: source[j] names the bit at position
// j of every register as loaded, line[j] the one wanted there at the end. Bits of `line` that are
// not in `source` come from the register's number, where bits of `source` that are not in `line`
// go. Both spans have b different numbers, 4 <= b <= 6.
struct BitNetworkPlan {
  BitNetwork network;
  std::vector<int> incoming;  // the bit of `line` that register bit k stands for while loading
  std::vector<int> evicted;   // the bit of `source` that it stands for while storing
};
BitNetworkPlan PlanBitNetwork(std::span<const int> source, std::span<const int> line);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_BIT_NETWORK_H_
