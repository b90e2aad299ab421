#include "checkpoint/prepare/sign_bits.h"

namespace lanewise {

std::vector<std::uint8_t> SignBitsJoiner::Join(const ZeroSignBits& bits, bool last) {
  std::vector<std::uint8_t> whole;
  whole.reserve(bits.bytes.size() + 1);
  std::int64_t left = bits.count;
  for (const std::uint8_t byte : bits.bytes) {
    const int here = left < 8 ? static_cast<int>(left) : 8;
    left -= here;
    begun_ |= static_cast<unsigned>(byte) << begun_bits_;
    begun_bits_ += here;
    if (begun_bits_ < 8) continue;
    whole.push_back(static_cast<std::uint8_t>(begun_));
    begun_ >>= 8;
    begun_bits_ -= 8;
  }
  if (last && begun_bits_ > 0) {
    whole.push_back(static_cast<std::uint8_t>(begun_));
    begun_bits_ = 0;
    begun_ = 0;
  }
  bytes_ += static_cast<std::int64_t>(whole.size());
  return whole;
}

}  // namespace lanewise
