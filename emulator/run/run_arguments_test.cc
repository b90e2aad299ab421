// The argument words of //emulator:run.

#include "emulator/run/run_arguments.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "emulator/load/read_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise::emulator {
namespace {

using testing::HasSubstr;

Kernel KernelOf(const std::vector<int64_t>& sizes) {
  Kernel kernel;
  kernel.name = "Kernel";
  int64_t offset = 0;
  for (const int64_t size : sizes) {
    offset = (offset + size - 1) / size * size;
    kernel.arguments.push_back({"", "by_value", offset, size});
    offset += size;
  }
  kernel.arguments.push_back({"", "hidden_block_count_x", offset, 4});
  return kernel;
}

std::string Error(const std::vector<std::string>& words, const std::vector<int64_t>& sizes) {
  return std::string(RunArguments::Parse(words, KernelOf(sizes)).status().message());
}

TEST(RunArgumentsTest, ValuesStandAtTheirOffsets) {
  auto arguments =
      RunArguments::Parse({"i32:-2", "i64:5000000000", "f32:0.5"}, KernelOf({4, 8, 4}));
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  ASSERT_EQ(arguments->kernarg().size(), 20u);
  int32_t first;
  int64_t second;
  float third;
  std::memcpy(&first, arguments->kernarg().data(), 4);
  std::memcpy(&second, arguments->kernarg().data() + 8, 8);
  std::memcpy(&third, arguments->kernarg().data() + 16, 4);
  EXPECT_EQ(first, -2);
  EXPECT_EQ(second, 5000000000);
  EXPECT_EQ(third, 0.5f);
}

// Bits by the formats' definitions: 1.5 is 0x3e00 as f16, 0x3fc0 as bf16; 1 + 2^-11 + 2^-40 is above
// the middle of two halves, which a detour over float would lose.
TEST(RunArgumentsTest, NarrowAndWideValues) {
  auto arguments = RunArguments::Parse({"i1:1", "i8:-2", "i8:254", "i16:65535", "f16:1.5",
                                        "f16:1.00048828125090949", "bf16:1.5", "f64:0.1"},
                                       KernelOf({1, 1, 1, 2, 2, 2, 2, 8}));
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  const std::span<const uint8_t> bytes = arguments->kernarg();
  ASSERT_EQ(bytes.size(), 24u);
  EXPECT_THAT(bytes.first(3), testing::ElementsAre(1, 254, 254));
  EXPECT_THAT(bytes.subspan(4, 8),
              testing::ElementsAre(0xff, 0xff, 0x00, 0x3e, 0x01, 0x3c, 0xc0, 0x3f));
  double last;
  std::memcpy(&last, bytes.data() + 16, 8);
  EXPECT_EQ(last, 0.1);
}

TEST(RunArgumentsTest, BuffersComeFromFilesAndGoToFiles) {
  const std::string in = testing::TempDir() + "/in.bin";
  const std::string out = testing::TempDir() + "/out.bin";
  const std::string changed = testing::TempDir() + "/changed.bin";
  std::ofstream(in) << "abcd";
  auto arguments = RunArguments::Parse(
      {"in:" + in, "out:" + out + ":6", "inout:" + in + ":" + changed}, KernelOf({8, 8, 8}));
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  const std::vector<Allocation> memory = arguments->Memory();
  ASSERT_EQ(memory.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    uint64_t pointer;
    std::memcpy(&pointer, arguments->kernarg().data() + 8 * i, 8);
    EXPECT_EQ(memory[i].base, pointer);
    EXPECT_EQ(pointer % 4096, 0u);
  }
  EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(memory[0].base), "abcd", 4), 0);
  EXPECT_EQ(*reinterpret_cast<uint8_t*>(memory[1].base), 0xa5);  // poisoned
  std::memcpy(reinterpret_cast<void*>(memory[1].base), "result", 6);
  *reinterpret_cast<char*>(memory[2].base) = 'z';
  ASSERT_TRUE(arguments->WriteOutputs().ok());
  EXPECT_THAT(*ReadFile(out), testing::ElementsAre('r', 'e', 's', 'u', 'l', 't'));
  EXPECT_THAT(*ReadFile(changed), testing::ElementsAre('z', 'b', 'c', 'd'));
}

TEST(RunArgumentsTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Error({"i32:1"}, {4, 4}), HasSubstr("takes 2 arguments, not 1"));
  EXPECT_THAT(Error({"i32:1"}, {8}), HasSubstr("has 8 bytes, not 4"));
  EXPECT_THAT(Error({"i32:9999999999"}, {4}), HasSubstr("beyond 32 bits"));
  EXPECT_THAT(Error({"i32:x"}, {4}), HasSubstr("no integer"));
  EXPECT_THAT(Error({"f32:x"}, {4}), HasSubstr("no number"));
  EXPECT_THAT(Error({"u64:1"}, {8}), HasSubstr("unknown kind; there are in, out, inout, i1,"));
  EXPECT_THAT(Error({"i1:2"}, {1}), HasSubstr("beyond 1 bit"));
  EXPECT_THAT(Error({"i8:256"}, {1}), HasSubstr("beyond 8 bits"));
  EXPECT_THAT(Error({"i8:-129"}, {1}), HasSubstr("beyond 8 bits"));
  EXPECT_THAT(Error({"f16:x"}, {2}), HasSubstr("no number"));
  EXPECT_THAT(Error({"plain"}, {8}), HasSubstr("expected KIND:VALUE"));
  EXPECT_THAT(Error({"out:file"}, {8}), HasSubstr("expected out:FILE:BYTES"));
  EXPECT_THAT(Error({"out:file:-1"}, {8}), HasSubstr("no number of bytes"));
  EXPECT_THAT(Error({"in:/no/such/file"}, {8}), HasSubstr("cannot open /no/such/file"));
}

}  // namespace
}  // namespace lanewise::emulator
