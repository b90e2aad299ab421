#ifndef LANEWISE_CHECKPOINT_FILES_DIGEST_H_
#define LANEWISE_CHECKPOINT_FILES_DIGEST_H_

// XXH3-64 (seed 0) of bytes that come in pieces, as 16 lower-case hexadecimal digits, the most
// significant first: `xxhsum -H3` prints the same ones. It finds accidents, not forgery.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct XXH3_state_s;

namespace lanewise {

inline constexpr int kDigestDigits = 16;

class Digest {
 public:
  Digest();

  void Update(std::span<const uint8_t> bytes);

  // Of everything so far; more may follow.
  std::string Hex() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

// Of one run of bytes.
std::string DigestHex(std::span<const uint8_t> bytes);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILES_DIGEST_H_
