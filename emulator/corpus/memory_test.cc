#include <cstdint>
#include <cstring>
#include <vector>

#include "emulator/corpus/kernel_test.h"
#include "emulator/corpus/memory_o0.h"
#include "emulator/corpus/memory_o1.h"
#include "emulator/corpus/memory_o2.h"
#include "emulator/corpus/memory_o3.h"
#include "gtest/gtest.h"

namespace lanewise::hip {
namespace {

class MemoryTest : public KernelTest {
 protected:
  std::vector<uint32_t> Words(size_t count) {
    std::vector<uint32_t> values(count);
    for (uint32_t& value : values) value = static_cast<uint32_t>(random_());
    return values;
  }
};

TEST_P(MemoryTest, TransposeOfAnOddShape) {
  constexpr uint32_t kRows = 37, kColumns = 53;
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Buffer in = In(values);
  const Buffer out = Out<float>(values.size());
  Run("Transpose", {{(kColumns + 15) / 16, (kRows + 15) / 16}, {16, 16}}, in, out, kRows, kColumns);
  const auto results = Read<float>(out);
  for (uint32_t i = 0; i < kRows; ++i) {
    for (uint32_t j = 0; j < kColumns; ++j) {
      ASSERT_EQ(results[j * kRows + i], values[i * kColumns + j]) << i << ", " << j;
    }
  }
}

TEST_P(MemoryTest, EveryWidth) {
  std::vector<uint8_t> values(64 * 64);
  for (uint8_t& value : values) value = static_cast<uint8_t>(random_());
  const Buffer in = In(values);
  const Buffer out = Out<uint8_t>(values.size());
  Run("Widths", {{1}, {64}}, in, out);
  const auto results = Read<uint8_t>(out);
  for (size_t item = 0; item < 64; ++item) {
    const uint8_t* from = values.data() + 64 * item;
    uint8_t to[64];
    const auto word = [&](size_t at) {
      uint32_t value;
      std::memcpy(&value, from + at, 4);
      return value;
    };
    const auto put = [&](size_t at, uint32_t value) { std::memcpy(to + at, &value, 4); };
    to[0] = from[1];
    to[1] = 0x11;
    std::memcpy(to + 2, from + 4, 2);
    int16_t half;
    std::memcpy(&half, from + 10, 2);
    put(4, static_cast<uint32_t>(static_cast<int8_t>(from[9]) + half));
    std::memcpy(to + 8, from + 16, 8);
    for (size_t i = 0; i < 3; ++i) put(16 + 4 * i, word(32 + 4 * i) + 1);
    std::memcpy(to + 28, from + 28, 4);
    for (size_t i = 0; i < 4; ++i) put(32 + 4 * i, word(48 + 4 * i) ^ 0x55);
    for (size_t i = 48; i < 64; ++i) to[i] = static_cast<uint8_t>(from[i] + from[i - 48]);
    for (size_t i = 0; i < 64; ++i) {
      ASSERT_EQ(results[64 * item + i], to[i]) << "item " << item << " byte " << i;
    }
  }
}

TEST_P(MemoryTest, GenericPointers) {
  std::vector<int> values(68);
  for (int& value : values) value = static_cast<int>(random_() % 1000);
  const Buffer in = In(values);
  const Buffer out = Out<int>(60);
  // 60 work-items: the last ones of the wave are not there, and LDS keeps 4 unwritten words.
  Run("GenericPointers", {{1}, {60}}, in, out);
  const auto results = Read<int>(out);
  for (size_t i = 0; i < 60; ++i) {
    int expected = 0;
    for (size_t j = 0; j < 4; ++j) {
      if (i % 3 == 0) expected += values[j];
      if (i % 3 == 1) expected += 2 * values[j];
      if (i % 3 == 2) expected += values[(i + j) % 64] + static_cast<int>(j);
    }
    ASSERT_EQ(results[i], expected) << i;
  }
}

TEST_P(MemoryTest, BuffersCheckTheirRange) {
  const std::vector<uint32_t> values = Words(128);
  const Buffer in = In(values);
  const Buffer out = Out<uint32_t>(256);
  Run("Buffers", {{1}, {64}}, in, out, uint32_t{400});
  const auto results = Read<uint32_t>(out);
  const auto within = [&](size_t i) { return i < 100 ? values[i] : 0; };
  for (size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(results[2 * i], within(2 * i) + 1) << i;
    ASSERT_EQ(results[2 * i + 1], within(2 * i + 1) + 2) << i;
  }
  for (size_t i = 128; i < 256; ++i) ASSERT_EQ(results[i], 0xa5a5a5a5u) << i;
}

TEST_P(MemoryTest, GlobalToLds) {
  const std::vector<uint32_t> values = Words(64);
  const Buffer in = In(values);
  const Buffer out = Out<uint32_t>(64);
  Run("GlobalToLds", {{1}, {64}}, in, out);
  const auto results = Read<uint32_t>(out);
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(results[i], values[(i + 1) % 64]) << i;
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, MemoryTest,
    testing::Combine(testing::Values("gfx942", "gfx950"),
                     testing::ValuesIn(Levels(MemoryO0CodeObjects, MemoryO1CodeObjects,
                                              MemoryO2CodeObjects, MemoryO3CodeObjects))),
    KernelTest::Name);

}  // namespace
}  // namespace lanewise::hip
