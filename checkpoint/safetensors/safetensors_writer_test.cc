#include "checkpoint/safetensors/safetensors_writer.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/files/test_files.h"
#include "checkpoint/safetensors/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Order = SafetensorsWriter::Order;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(Writer, WritesTheseBytes) {
  const TestDirectory directory;
  const std::string path = directory.File("x.safetensors");
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(
      path, {{"b", DType::kU8, {3}}, {"a \"q\"", DType::kF32, {1, 1}}, {"s", DType::kF4, {0}}},
      {{"z", "1"}, {"a", "\n"}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Write(0, 0, AsBytes("xyz")).ok());
  ASSERT_TRUE(writer->Write(1, 2, AsBytes("cd")).ok());
  ASSERT_TRUE(writer->Write(1, 0, AsBytes("ab")).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer->Finish().ok());
  // By hand: compact JSON, metadata sorted, the 4-byte type before the 1-byte one, padded to 8.
  std::string header = R"({"__metadata__":{"a":"\n","z":"1"},)"
                       R"("a \"q\"":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"U8","shape":[3],"data_offsets":[4,7]},)"
                       R"("s":{"dtype":"F4","shape":[0],"data_offsets":[7,7]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(ReadAll(path), RawSafetensors(header, "abcdxyz"));
  EXPECT_THAT(directory.Names(), ElementsAre("x.safetensors"));
}

TEST(Writer, KeepsTheDeclaredOrderIfAsked) {
  const TestDirectory directory;
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(
      directory.File("x"), {{"b", DType::kU8, {3}}, {"a", DType::kF32, {1}}}, {},
      Order::kAsDeclared);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->tensors()[0].begin, 0);
  EXPECT_EQ(writer->tensors()[1].begin, 3);
}

TEST(Writer, AFileOfNothingIsAFile) {
  const TestDirectory directory;
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(directory.File("x"), {}, {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(ReadAll(directory.File("x")), RawSafetensors("{}      ", ""));
}

TEST(Writer, AGivenHeaderIsWrittenAsItIs) {
  const TestDirectory directory;
  const std::string original =
      RawSafetensors(R"({"b": {"dtype": "U8", "shape": [3], "data_offsets": [4, 7]}, "a" : )"
                     R"({"shape": [4], "dtype": "U8", "data_offsets": [0, 4]}}  )",
                     "abcdefg");
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::CreateWithHeader(
      directory.File("x"), original.substr(8, original.size() - 15));
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_EQ(writer->tensors()[0].name, "a");
  ASSERT_TRUE(writer->Write(0, 0, AsBytes("abcd")).ok());
  ASSERT_TRUE(writer->Write(1, 0, AsBytes("efg")).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(ReadAll(directory.File("x")), original);
  EXPECT_FALSE(SafetensorsWriter::CreateWithHeader(directory.File("y"), "{").ok());
  EXPECT_FALSE(SafetensorsWriter::CreateWithHeader(
                   directory.File("y"), R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})")
                   .ok());
}

TEST(Writer, EveryByteIsAccountedFor) {
  const TestDirectory directory;
  absl::StatusOr<SafetensorsWriter> writer =
      SafetensorsWriter::Create(directory.File("x"), {{"w", DType::kU8, {10}}}, {});
  ASSERT_TRUE(writer.ok());
  EXPECT_THAT(Message(writer->Finish()), HasSubstr("'w': byte 0 of 10 was never written"));
  ASSERT_TRUE(writer->Write(0, 0, AsBytes("012")).ok());
  ASSERT_TRUE(writer->Write(0, 7, AsBytes("789")).ok());
  EXPECT_THAT(Message(writer->Finish()), HasSubstr("byte 3 of 10"));
  EXPECT_THAT(Message(writer->Write(0, 6, AsBytes("67"))), HasSubstr("written before"));
  EXPECT_THAT(Message(writer->Write(0, 2, AsBytes("2"))), HasSubstr("written before"));
  EXPECT_THAT(Message(writer->Write(0, 0, AsBytes("0123456789"))), HasSubstr("written before"));
  ASSERT_TRUE(writer->Write(0, 4, AsBytes("45")).ok());
  ASSERT_TRUE(writer->Write(0, 3, AsBytes("3")).ok());
  EXPECT_THAT(Message(writer->Finish()), HasSubstr("byte 6 of 10"));
  ASSERT_TRUE(writer->Write(0, 6, AsBytes("6")).ok());
  EXPECT_THAT(Message(writer->Write(0, 9, AsBytes("9x"))), HasSubstr("has 10 bytes"));
  EXPECT_THAT(Message(writer->Write(0, -1, AsBytes("9"))), HasSubstr("offset -1"));
  EXPECT_THAT(Message(writer->Write(0, 11, {})), HasSubstr("offset 11"));
  EXPECT_THAT(Message(writer->Write(1, 0, {})), HasSubstr("tensor number 1 of 1"));
  EXPECT_TRUE(writer->Write(0, 10, {}).ok());
  std::string back(4, '?');
  ASSERT_TRUE(writer->Read(0, 3, {reinterpret_cast<uint8_t*>(back.data()), 4}).ok());
  EXPECT_EQ(back, "3456");
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_THAT(Message(writer->Finish()), HasSubstr("already complete"));
  EXPECT_THAT(Message(writer->Write(0, 0, {})), HasSubstr("already complete"));
}

TEST(Writer, TheLastByteCountsToo) {
  const TestDirectory directory;
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(
      directory.File("x"), {{"v", DType::kU8, {2}}, {"w", DType::kU8, {10}}}, {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Write(0, 0, AsBytes("01")).ok());
  ASSERT_TRUE(writer->Write(1, 0, AsBytes("012345678")).ok());
  EXPECT_THAT(Message(writer->Finish()), HasSubstr("'w': byte 9 of 10 was never written"));
  ASSERT_TRUE(writer->Write(1, 9, AsBytes("9")).ok());
  EXPECT_TRUE(writer->Finish().ok());
}

TEST(Writer, RefusesWhatAReaderWouldRefuse) {
  const TestDirectory directory;
  const std::string path = directory.File("x");
  const auto refusal = [&](std::vector<TensorSpec> tensors) {
    return Message(SafetensorsWriter::Create(path, std::move(tensors), {}).status());
  };
  EXPECT_THAT(refusal({{"a", DType::kU8, {1}}, {"a", DType::kU8, {1}}}), HasSubstr("'a' twice"));
  EXPECT_THAT(refusal({{"__metadata__", DType::kU8, {1}}}), HasSubstr("__metadata__"));
  EXPECT_THAT(refusal({{"\xff", DType::kU8, {1}}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal({{"a", DType::kU8, {-1}}}), HasSubstr("negative"));
  EXPECT_THAT(refusal({{"a", DType::kF4, {3}}}), HasSubstr("12 bits"));
  EXPECT_THAT(refusal({{"a", DType::kU8, {int64_t{1} << 40, int64_t{1} << 40}}}),
              HasSubstr("2^63"));
  const int64_t most = std::numeric_limits<int64_t>::max() / 8;
  std::vector<TensorSpec> nine;
  for (int i = 0; i < 9; ++i) nine.push_back({std::to_string(i), DType::kU8, {most}});
  EXPECT_THAT(refusal(nine), HasSubstr("2^63 bytes"));
  EXPECT_THAT(refusal({{std::string(100'000'000, 'x'), DType::kU8, {1}}}),
              HasSubstr("the format allows 100000000"));
  EXPECT_THAT(Message(SafetensorsWriter::Create(directory.path(), {}, {}).status()),
              HasSubstr("is a directory"));
  EXPECT_THAT(Message(SafetensorsWriter::Create("/dev/null", {}, {}).status()),
              HasSubstr("not an ordinary file"));
  EXPECT_EQ(SafetensorsWriter::Create(directory.File("absent/x"), {}, {}).status().code(),
            absl::StatusCode::kNotFound);
  // Nothing of all that left a trace.
  EXPECT_THAT(directory.Names(), IsEmpty());
}

// A file that no disk holds is refused before anything is written.
TEST(Writer, RefusesWhatTheDiskCannotHold) {
  const TestDirectory directory;
  const absl::Status status =
      SafetensorsWriter::Create(directory.File("x"), {{"a", DType::kU8, {int64_t{1} << 59}}}, {})
          .status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(directory.Names(), IsEmpty());
}

TEST(Writer, PlaceholdersTakeTheirValue) {
  const TestDirectory directory;
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(
      directory.File("x"), {}, {{"digest", "................"}, {"other", "1"}});
  ASSERT_TRUE(writer.ok());
  EXPECT_THAT(Message(writer->SetMetadata("digest", "123")), HasSubstr("has room for 16 bytes"));
  EXPECT_THAT(Message(writer->SetMetadata("digest", "\"234567890123456")),
              HasSubstr("takes 17"));  // a quote takes two
  EXPECT_THAT(Message(writer->SetMetadata("none", "1")), HasSubstr("'none'"));
  ASSERT_TRUE(writer->SetMetadata("digest", "0123456789abcdef").ok());
  EXPECT_EQ(writer->HeaderJson(), R"({"__metadata__":{"digest":"0123456789abcdef","other":"1"}})");
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(SafetensorsFile::Open(directory.File("x"))->metadata().at("digest"),
            "0123456789abcdef");
}

// Lists whose length comes with their bytes lie behind all others, one after the other.
TEST(Writer, ListsGrow) {
  const TestDirectory directory;
  const std::string path = directory.File("x");
  const std::vector<size_t> growing = {0, 2, 3};
  const auto create = [&] {
    return SafetensorsWriter::Create(path,
                                     {{"first", DType::kU8, {1000}},
                                      {"fixed", DType::kF4, {4}},
                                      {"empty", DType::kU8, {1000}},
                                      {"last", DType::kU8, {3}}},
                                     {}, SafetensorsWriter::Order::kWidestFirst, growing);
  };
  {
    absl::StatusOr<SafetensorsWriter> writer = create();
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_THAT(Message(writer->Append(1, AsBytes("1"))), HasSubstr("number 1 does not grow"));
    ASSERT_TRUE(writer->Append(0, AsBytes("abc")).ok());
    ASSERT_TRUE(writer->Append(0, AsBytes("de")).ok());
    ASSERT_TRUE(writer->Append(3, AsBytes("xy")).ok());
    EXPECT_THAT(Message(writer->Append(0, AsBytes("f"))),
                HasSubstr("'first': 1 bytes more, but what follows it has begun"));
    EXPECT_THAT(Message(writer->Append(3, AsBytes("zz"))),
                HasSubstr("'last': 2 bytes more, but 1 find room"));
    EXPECT_THAT(Message(writer->Finish()), HasSubstr("'fixed': byte 0 of 2"));
    ASSERT_TRUE(writer->Write(1, 0, AsBytes("12")).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto bytes = [&](std::string_view name) {
    for (const TensorInfo& info : file->tensors()) {
      if (info.name != name) continue;
      const auto data =
          file->file_bytes().subspan(file->data_begin() + info.begin, info.byte_count());
      return std::string(data.begin(), data.end());
    }
    return std::string("none");
  };
  EXPECT_EQ(bytes("fixed"), "12");
  EXPECT_EQ(bytes("first"), "abcde");
  EXPECT_EQ(bytes("empty"), "");
  EXPECT_EQ(bytes("last"), "xy");
  absl::StatusOr<SafetensorsWriter> nothing = create();
  ASSERT_TRUE(nothing.ok());
  ASSERT_TRUE(nothing->Write(1, 0, AsBytes("12")).ok());
  ASSERT_TRUE(nothing->Finish().ok());
  EXPECT_EQ(SafetensorsFile::Open(path)->tensors().size(), 4u);
  const std::vector<size_t> fixed = {1};
  EXPECT_THAT(
      Message(SafetensorsWriter::Create(path, {{"a", DType::kU8, {1}}, {"b", DType::kF4, {4}}}, {},
                                        SafetensorsWriter::Order::kWidestFirst, fixed)
                  .status()),
      HasSubstr("cannot grow"));
}

TEST(Writer, ReplacesTheTargetOnlyWhenComplete) {
  const TestDirectory directory;
  const std::string path = directory.Write("x", "old");
  {
    absl::StatusOr<SafetensorsWriter> writer =
        SafetensorsWriter::Create(path, {{"w", DType::kU8, {1}}}, {});
    ASSERT_TRUE(writer.ok());
    // The new file has no name yet, or a temporary one where the file system wants one.
    ASSERT_LE(directory.Names().size(), 2u);
    ASSERT_TRUE(writer->Write(0, 0, AsBytes("1")).ok());
    SafetensorsWriter moved = *std::move(writer);
    EXPECT_EQ(ReadAll(path), "old");
  }
  EXPECT_THAT(directory.Names(), ElementsAre("x"));
  EXPECT_EQ(ReadAll(path), "old");
  absl::StatusOr<SafetensorsWriter> writer =
      SafetensorsWriter::Create(path, {{"w", DType::kU8, {1}}}, {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Write(0, 0, AsBytes("1")).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(SafetensorsFile::Open(path).ok());
}

TEST(Writer, AKilledWriterLeavesNoTargetAndDisturbsNoOther) {
  const TestDirectory directory;
  const std::string path = directory.File("x");
  const pid_t child = fork();
  if (child == 0) {
    auto writer = SafetensorsWriter::Create(path, {{"w", DType::kU8, {4}}}, {});
    if (!writer.ok() || !writer->Write(0, 0, AsBytes("0123")).ok()) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  // Nothing is left, or a temporary file where the file system knows no files without a name.
  std::vector<std::string> left = directory.Names();
  ASSERT_LE(left.size(), 1u);
  for (const std::string& name : left) {
    EXPECT_TRUE(name.starts_with(".lanewise-") && name.ends_with(".tmp")) << name;
  }
  absl::StatusOr<SafetensorsWriter> writer =
      SafetensorsWriter::Create(path, {{"w", DType::kU8, {4}}}, {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Write(0, 0, AsBytes("0123")).ok());
  ASSERT_TRUE(writer->Finish().ok());
  left.push_back("x");
  EXPECT_THAT(directory.Names(), testing::ElementsAreArray(left));
}

TEST(Writer, HonoursTheUmask) {
  const TestDirectory directory;
  const mode_t old = umask(027);
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(directory.File("x"), {}, {});
  umask(old);
  ASSERT_TRUE(writer.ok() && writer->Finish().ok());
  struct stat info;
  ASSERT_EQ(stat(directory.File("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

// Random sets of tensors, written in random pieces by several threads, come back as they were.
TEST(Writer, RoundTripsWhateverTheOrderAndTheThreads) {
  const TestDirectory directory;
  std::mt19937_64 random(7);
  for (int draw = 0; draw < 60; ++draw) {
    SCOPED_TRACE(testing::Message() << "draw " << draw << " of seed 7");
    std::vector<TensorSpec> specs;
    std::vector<std::string> contents;
    for (uint64_t i = 0, count = random() % 12; i < count; ++i) {
      TensorSpec spec;
      spec.name = "t" + std::to_string(i) + std::string(random() % 9, 'x');
      spec.dtype = AllDTypes()[random() % AllDTypes().size()];
      for (uint64_t rank = random() % 4; rank > 0; --rank) {
        spec.shape.push_back(static_cast<int64_t>(random() % 5));
      }
      spec.shape.push_back(static_cast<int64_t>(random() % 60 * 8));  // whole bytes for each type
      std::string bytes(static_cast<size_t>(*ByteCount(spec.dtype, spec.shape)), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      specs.push_back(std::move(spec));
      contents.push_back(std::move(bytes));
    }
    struct Piece {
      size_t tensor;
      size_t offset;
      size_t size;
    };
    std::vector<Piece> pieces;
    for (size_t i = 0; i < specs.size(); ++i) {
      for (size_t at = 0; at < contents[i].size();) {
        const size_t size = std::min<size_t>(contents[i].size() - at, 1 + random() % 400);
        pieces.push_back({i, at, size});
        at += size;
      }
    }
    std::shuffle(pieces.begin(), pieces.end(), random);
    const Order order = random() % 2 == 0 ? Order::kWidestFirst : Order::kAsDeclared;
    const std::string path = directory.File("x");
    absl::StatusOr<SafetensorsWriter> writer =
        SafetensorsWriter::Create(path, specs, {{"draw", std::to_string(draw)}}, order);
    ASSERT_TRUE(writer.ok()) << writer.status();
    std::vector<std::thread> threads;
    std::vector<absl::Status> statuses(3);
    for (size_t t = 0; t < statuses.size(); ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = t; i < pieces.size() && statuses[t].ok(); i += statuses.size()) {
          const Piece& piece = pieces[i];
          statuses[t] =
              writer->Write(piece.tensor, static_cast<int64_t>(piece.offset),
                            AsBytes(contents[piece.tensor]).subspan(piece.offset, piece.size));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const absl::Status& status : statuses) ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(writer->Finish().ok());

    const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_EQ(file->tensors().size(), specs.size());
    EXPECT_EQ(file->data_begin() % 8, 0);
    for (size_t i = 0; i < specs.size(); ++i) {
      const TensorInfo* info = file->Find(specs[i].name);
      ASSERT_NE(info, nullptr) << specs[i].name;
      EXPECT_EQ(*info, writer->tensors()[i]);
      EXPECT_EQ(static_cast<const TensorSpec&>(*info), specs[i]);
      const std::span<const uint8_t> bytes = file->Bytes(*info);
      ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), AsBytes(contents[i]).begin(),
                             AsBytes(contents[i]).end()))
          << specs[i].name;
      if (order == Order::kWidestFirst && BitsPerElement(info->dtype) >= 8) {
        EXPECT_EQ((file->data_begin() + info->begin) % (BitsPerElement(info->dtype) / 8), 0)
            << specs[i].name;
      }
    }
    EXPECT_EQ(file->metadata().at("draw"), std::to_string(draw));
  }
}

}  // namespace
}  // namespace lanewise
