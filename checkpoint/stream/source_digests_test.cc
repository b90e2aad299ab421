#include "checkpoint/stream/source_digests.h"

#include <chrono>
#include <string>
#include <thread>

#include "checkpoint/files/digest.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

TEST(SourceDigestsTest, DigestsEachFileWhateverTheWindow) {
  const TestDirectory directory;
  std::vector<MappedFile> files;
  std::vector<std::string> expected;
  for (const int size : {0, 1, 5'000'000, 12'345'678}) {
    std::string text(static_cast<std::size_t>(size), 'x');
    for (std::size_t i = 0; i < text.size(); i += 4099) text[i] = static_cast<char>(i >> 12);
    const std::string path = directory.Write("f" + std::to_string(size), text);
    files.push_back(*MappedFile::Open(path));
    expected.push_back(DigestHex(AsBytes(text)));
  }
  SourceDigests::Files spans;
  for (const MappedFile& file : files) spans.push_back(file.bytes());
  for (const std::int64_t window :
       {std::int64_t{0}, std::int64_t{4'000'000}, std::int64_t{1} << 40}) {
    SourceDigests digests(spans, window);
    for (std::size_t i = 0; i < files.size(); ++i) {
      digests.Allow(i, 0.3);
      digests.Allow(i, 0.9);
      EXPECT_EQ(digests.Wait(i), expected[i]) << "file " << i << ", window " << window;
    }
    // Once more, and of an earlier one.
    EXPECT_EQ(digests.Wait(2), expected[2]);
  }
}

TEST(SourceDigestsTest, EndsWhereverItIs) {
  const TestDirectory directory;
  const MappedFile file = *MappedFile::Open(directory.Write("f", std::string(30'000'000, 'x')));
  for (int i = 0; i < 20; ++i) {
    SourceDigests digests({file.bytes()}, 8 << 20);
    if (i % 2 == 1) digests.Allow(0, 0.5);
    std::this_thread::sleep_for(std::chrono::microseconds(50 * i));
  }
}

}  // namespace
}  // namespace lanewise
