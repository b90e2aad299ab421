#ifndef LANEWISE_CHECKPOINT_FILES_DIGEST_OF_PAGES_H_
#define LANEWISE_CHECKPOINT_FILES_DIGEST_OF_PAGES_H_

#include <cstdint>
#include <span>
#include <string>

namespace lanewise {

// DigestHex (digest.h) of a whole mapped file, or of bytes of `mapping`, whose pages are given back
// as they are passed: a few MiB are held at a time.
std::string DigestOfPages(std::span<const std::uint8_t> mapping,
                          std::span<const std::uint8_t> bytes);
inline std::string DigestOfPages(std::span<const std::uint8_t> mapping) {
  return DigestOfPages(mapping, mapping);
}

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILES_DIGEST_OF_PAGES_H_
