#ifndef LANEWISE_WEIGHTS_REWRITE_H_
#define LANEWISE_WEIGHTS_REWRITE_H_

#include <cstdint>

namespace lanewise {

// What is done to every byte while it moves. Each keeps its place: a byte's new value depends on
// the byte alone. Padding is not rewritten.
enum class Rewrite {
  kNone,
  // OCP e4m3 to the FNUZ byte of half its value: 0x80 (-0) becomes 0x00, every other byte stays.
  kE4m3ToFnuz,
  // Packed e2m1: each nibble 0x8 (-0) becomes 0x0.
  kE2m1DropNegativeZero,
};

// What a rewrite met. Only the counts that belong to the rewrite are kept.
struct RewriteCounts {
  std::int64_t negative_zeros = 0;  // elements rewritten: bytes or nibbles
  std::int64_t nans = 0;            // kE4m3ToFnuz: bytes 0x7F and 0xFF, which would read as +-240

  RewriteCounts& operator+=(const RewriteCounts& other) {
    negative_zeros += other.negative_zeros;
    nans += other.nans;
    return *this;
  }
  friend bool operator==(const RewriteCounts&, const RewriteCounts&) = default;
};

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_REWRITE_H_
