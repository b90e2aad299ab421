#include "checkpoint/files/digest.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

// The values that xxhsum -H3 prints.
TEST(Digest, IsXxh3) {
  EXPECT_EQ(DigestHex({}), "2d06800538d394c2");
  EXPECT_EQ(DigestHex(AsBytes("a")), "e6c632b61e964e1f");
  EXPECT_EQ(DigestHex(AsBytes("abc")), "78af5f94892f3950");
}

TEST(Digest, PiecesMakeTheWhole) {
  std::vector<uint8_t> bytes(100'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i >> 3);
  const std::span<const uint8_t> all(bytes);
  for (size_t piece : {1u, 7u, 64u, 1024u, 99'999u}) {
    Digest digest;
    EXPECT_EQ(digest.Hex(), DigestHex({}));
    for (size_t at = 0; at < all.size(); at += piece) {
      digest.Update(all.subspan(at, std::min(piece, all.size() - at)));
      digest.Update({});
    }
    const Digest moved = std::move(digest);
    EXPECT_EQ(moved.Hex(), DigestHex(all)) << "pieces of " << piece;
  }
}

TEST(Digest, HasLeadingZeros) {
  for (uint32_t i = 0; i < 1000; ++i) {
    const std::string hex = DigestHex({reinterpret_cast<const uint8_t*>(&i), sizeof(i)});
    ASSERT_EQ(hex.size(), static_cast<size_t>(kDigestDigits)) << i;
  }
}

}  // namespace
}  // namespace lanewise
