#ifndef LANEWISE_CHECKPOINT_PREPARE_SIGN_BITS_H_
#define LANEWISE_CHECKPOINT_PREPARE_SIGN_BITS_H_

#include <cstdint>
#include <vector>

#include "weights/zero_signs.h"

namespace lanewise {

// Joins runs of bits into bytes, each run beginning where the last one ended.
class SignBitsJoiner {
 public:
  // The bytes that are full with these bits, and with `last` also the one that is begun.
  std::vector<std::uint8_t> Join(const ZeroSignBits& bits, bool last);

  // How many bytes Join has given so far.
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
  unsigned begun_ = 0;  // the byte that is not full
  int begun_bits_ = 0;  // its bits
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_SIGN_BITS_H_
