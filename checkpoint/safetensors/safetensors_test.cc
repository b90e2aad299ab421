#include "checkpoint/safetensors/safetensors.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "checkpoint/files/test_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::HasSubstr;

const char kHeader[] =
    R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[4,7]},)"
    R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
    R"("none":{"dtype":"F32","shape":[0],"data_offsets":[7,7]},"__metadata__":{"k":"v"}})";

std::string Text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

TEST(SafetensorsFile, GivesTheBytesOfEachTensor) {
  const TestDirectory directory;
  const std::string path = directory.Write("x.safetensors", RawSafetensors(kHeader, "abcdefg"));
  absl::StatusOr<SafetensorsFile> opened = SafetensorsFile::Open(path);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const SafetensorsFile file = *std::move(opened);  // moved: everything below still holds
  ASSERT_EQ(file.tensors().size(), 3u);
  ASSERT_NE(file.Find("a"), nullptr);
  EXPECT_EQ(Text(file.Bytes(*file.Find("a"))), "abcd");
  EXPECT_EQ(Text(file.Bytes(*file.Find("b"))), "efg");
  EXPECT_EQ(Text(file.Bytes(*file.Find("none"))), "");
  EXPECT_EQ(file.Find("c"), nullptr);
  EXPECT_EQ(file.Find("__metadata__"), nullptr);
  EXPECT_EQ(file.metadata().at("k"), "v");
  EXPECT_EQ(file.header_json(), kHeader);
  EXPECT_EQ(file.file_size(), static_cast<int64_t>(8 + sizeof(kHeader) - 1 + 7));
  EXPECT_EQ(file.path(), path);
}

TEST(SafetensorsFile, RefusesWhatIsNotAFile) {
  const TestDirectory directory;
  EXPECT_EQ(SafetensorsFile::Open(directory.File("absent")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(SafetensorsFile::Open(directory.path()).status().message()),
              HasSubstr("is a directory"));
  EXPECT_THAT(std::string(SafetensorsFile::Open("/dev/null").status().message()),
              HasSubstr("not an ordinary file"));
  const std::string fifo = directory.File("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(std::string(SafetensorsFile::Open(fifo).status().message()),
              HasSubstr("not an ordinary file"));
  EXPECT_THAT(std::string(SafetensorsFile::Open(directory.Write("empty", "")).status().message()),
              HasSubstr("has 0 bytes"));
}

TEST(SafetensorsFile, FollowsSymbolicLinks) {
  const TestDirectory directory;
  const std::string path = directory.Write("blob", RawSafetensors(kHeader, "abcdefg"));
  std::filesystem::create_symlink("blob", directory.File("x.safetensors"));
  EXPECT_TRUE(SafetensorsFile::Open(directory.File("x.safetensors")).ok());
}

TEST(SafetensorsFile, NoticesThatItChanged) {
  const TestDirectory directory;
  const std::string path = directory.Write("x.safetensors", RawSafetensors(kHeader, "abcdefg"));
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->CheckUnchanged().ok());
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_THAT(std::string(file->CheckUnchanged().message()), HasSubstr("changed while"));
  std::filesystem::remove(path);
  EXPECT_FALSE(file->CheckUnchanged().ok());
}

}  // namespace
}  // namespace lanewise
