#include "checkpoint/safetensors/written_digest.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

// Two tensors with an empty one between them, written in pieces of any order: the digest is that of
// the file.
TEST(WrittenDigestTest, IsTheFilesWhateverTheOrder) {
  const TestDirectory directory;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[3000000],"data_offsets":[0,3000000]},)"
      R"("b":{"dtype":"U8","shape":[0],"data_offsets":[3000000,3000000]},)"
      R"("c":{"dtype":"U8","shape":[1000],"data_offsets":[3000000,3001000]}})";
  struct Piece {
    std::size_t tensor;
    std::int64_t offset, size;
  };
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<Piece> pieces = {{1, 0, 0}, {2, 0, 400}, {2, 400, 600}};
    for (std::int64_t at = 0; at < 3'000'000;) {
      const std::int64_t size = std::min<std::int64_t>(3'000'000 - at, 1 + random() % 900'000);
      pieces.push_back({0, at, size});
      at += size;
    }
    if (round > 0) std::shuffle(pieces.begin(), pieces.end(), random);
    const std::string path = directory.File("f.safetensors");
    absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::CreateWithHeader(path, header);
    ASSERT_TRUE(writer.ok()) << writer.status();
    WrittenDigest digest(*writer, header);
    for (const Piece& piece : pieces) {
      std::string bytes(static_cast<std::size_t>(piece.size), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      ASSERT_TRUE(writer->Write(piece.tensor, piece.offset, AsBytes(bytes)).ok());
      digest.Wrote(piece.tensor, piece.offset, AsBytes(bytes));
      if (random() % 3 == 0) {
        ASSERT_TRUE(digest.CatchUp().ok());
      }
    }
    ASSERT_TRUE(digest.CatchUp().ok());
    ASSERT_TRUE(writer->Finish().ok());
    EXPECT_EQ(digest.Hex(), DigestHex(AsBytes(ReadAll(path)))) << "round " << round;
  }
}

}  // namespace
}  // namespace lanewise
