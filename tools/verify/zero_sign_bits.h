#ifndef LANEWISE_TOOLS_VERIFY_ZERO_SIGN_BITS_H_
#define LANEWISE_TOOLS_VERIFY_ZERO_SIGN_BITS_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace lanewise::tools {

// The signs of a weight's zeros as `prepare --lossless` stores them: elements are added in their
// order, and each that is zero, of either sign, gives one bit, 1 for -0, from the lowest bit of
// each byte on.
class ZeroSignBits {
 public:
  void AddE4m3(std::uint8_t byte) {
    if (byte == 0x00 || byte == 0x80) Add(byte == 0x80);
  }
  // Two e2m1, the low nibble first.
  void AddE2m1Pair(std::uint8_t byte) {
    for (const int nibble : {byte & 15, byte >> 4}) {
      if (nibble == 0 || nibble == 8) Add(nibble == 8);
    }
  }

  // The bytes that are complete, or all of them, which leave.
  std::vector<std::uint8_t> Take(bool all) {
    std::vector<std::uint8_t> taken = std::move(bytes_);
    bytes_.clear();
    if (!all && used_ % 8 != 0) {
      bytes_.push_back(taken.back());
      taken.pop_back();
    }
    return taken;
  }

 private:
  void Add(bool negative) {
    if (used_ % 8 == 0) bytes_.push_back(0);
    if (negative) bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | 1 << (used_ % 8));
    ++used_;
  }

  std::vector<std::uint8_t> bytes_;
  std::int64_t used_ = 0;
};

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_ZERO_SIGN_BITS_H_
