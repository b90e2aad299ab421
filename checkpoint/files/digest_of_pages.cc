#include "checkpoint/files/digest_of_pages.h"

#include <algorithm>

#include "checkpoint/files/digest.h"
#include "checkpoint/files/mapped_file.h"

namespace lanewise {

std::string DigestOfPages(std::span<const std::uint8_t> mapping,
                          std::span<const std::uint8_t> bytes) {
  constexpr std::int64_t kPiece = 2 * kPageBlockBytes;
  Digest digest;
  for (std::int64_t at = 0; at < std::ssize(bytes); at += kPiece) {
    const auto piece = bytes.subspan(at, std::min(kPiece, std::ssize(bytes) - at));
    PopulatePages(piece);
    digest.Update(piece);
    ReleasePages(mapping, piece);
  }
  return digest.Hex();
}

}  // namespace lanewise
