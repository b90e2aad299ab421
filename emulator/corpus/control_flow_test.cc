#include <cstdint>
#include <vector>

#include "emulator/corpus/control_flow_o0.h"
#include "emulator/corpus/control_flow_o1.h"
#include "emulator/corpus/control_flow_o2.h"
#include "emulator/corpus/control_flow_o3.h"
#include "emulator/corpus/kernel_test.h"
#include "gtest/gtest.h"

namespace lanewise::hip {
namespace {

class ControlFlowTest : public KernelTest {};

TEST_P(ControlFlowTest, Collatz) {
  std::vector<uint32_t> values(192);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i + 1);
  const Buffer in = In(values);
  const Buffer out = Out<uint32_t>(values.size());
  Run("Collatz", {{3}, {64}}, in, out, uint32_t{100});
  const auto steps = Read<uint32_t>(out);
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t value = values[i];
    uint32_t expected = 0;
    for (; value != 1 && expected < 100; ++expected) {
      value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    }
    ASSERT_EQ(steps[i], expected) << values[i];
  }
}

TEST_P(ControlFlowTest, Switch) {
  std::vector<int> values(100);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  const Buffer in = In(values);
  const Buffer out = Out<int>(values.size());
  Run("Switch", {{2}, {50}}, in, out);
  const auto results = Read<int>(out);
  for (int i = 0; i < 100; ++i) {
    int expected = 0;
    bool written = true;
    switch (i % 7) {
      case 0:
        expected = 3 * i;
        break;
      case 1:
        expected = i - 100 + 7;
        break;
      case 2:
        expected = 7;
        break;
      case 3:
        for (int j = 0; j < i % 13; ++j) expected += j * j;
        break;
      case 4:
        expected = -i;
        break;
      case 5:
        written = i <= 50;
        expected = 1;
        break;
      default:
        expected = -i - 1;
    }
    if (!written) expected = static_cast<int>(0xa5a5a5a5u);
    ASSERT_EQ(results[static_cast<size_t>(i)], expected) << i;
  }
}

TEST_P(ControlFlowTest, CallsThroughPointersAndTables) {
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i) values[static_cast<size_t>(i)] = i * 5 - 100;
  const Buffer in = In(values);
  const Buffer out = Out<int>(64);
  Run("Calls", {{1}, {64}}, in, out);
  const auto results = Read<int>(out);
  constexpr int kTable[] = {3, 1, 4, 1, 5, 9, 2, 6};
  for (size_t i = 0; i < 64; ++i) {
    const int x = values[i];
    ASSERT_EQ(results[i], (x % 2 == 0 ? 2 * x : x * x) + kTable[x & 7] + 40) << i;
  }
}

TEST_P(ControlFlowTest, Recursion) {
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i) values[static_cast<size_t>(i)] = i;
  const Buffer in = In(values);
  const Buffer out = Out<int>(64);
  Run("Recursion", {{1}, {64}}, in, out);
  const auto results = Read<int>(out);
  for (int i = 0; i < 64; ++i) {
    // Ackermann(2, n) is 2 n + 3.
    ASSERT_EQ(results[static_cast<size_t>(i)], 2 * (i & 3) + 3) << i;
  }
}

TEST_P(ControlFlowTest, UniformIndex) {
  std::vector<int> values(64 * 16);
  for (int& value : values) value = static_cast<int>(random_());
  std::vector<int> order(20);
  for (int& index : order) index = static_cast<int>(random_() % 100);
  const Buffer in = In(values);
  const Buffer out = Out<int>(64);
  const Buffer order_in = In(order, "order");
  Run("UniformIndex", {{1}, {64}}, in, out, order_in, 20);
  const auto results = Read<int>(out);
  for (size_t lane = 0; lane < 64; ++lane) {
    uint32_t own[16];
    for (size_t j = 0; j < 16; ++j) own[j] = static_cast<uint32_t>(values[16 * lane + j]);
    uint32_t sum = 0;
    for (const int index : order) {
      sum = 31 * sum + own[index & 15];
      own[(index + 5) & 15] = sum;
    }
    ASSERT_EQ(static_cast<uint32_t>(results[lane]), sum) << lane;
  }
}

TEST_P(ControlFlowTest, DivergentIndex) {
  std::vector<int> values(64 * 24);
  for (int& value : values) value = static_cast<int>(random_());
  const Buffer in = In(values);
  const Buffer out = Out<int>(64);
  Run("DivergentIndex", {{1}, {64}}, in, out, 30);
  const auto results = Read<int>(out);
  for (uint32_t lane = 0; lane < 64; ++lane) {
    uint32_t own[24];
    for (size_t j = 0; j < 24; ++j) own[j] = static_cast<uint32_t>(values[24 * lane + j]);
    for (uint32_t j = 0; j < 30; ++j) {
      const uint32_t a = own[j % 24] % 24;
      const uint32_t b = (a * 7 + lane) % 24;
      const uint32_t swap = own[a];
      own[a] = own[b] + j;
      own[b] = swap;
    }
    uint32_t sum = 0;
    for (const uint32_t value : own) sum = sum * 17 + value;
    ASSERT_EQ(static_cast<uint32_t>(results[lane]), sum) << lane;
  }
}

TEST_P(ControlFlowTest, Coordinates) {
  const Size3 grid{3, 2, 2};
  const Size3 block{5, 4, 6};
  const Buffer out = Out<uint32_t>(12 * 120);
  Run("Coordinates", {grid, block}, out);
  const auto results = Read<uint32_t>(out);
  size_t next = 0;
  for (uint32_t bz = 0; bz < 2; ++bz) {
    for (uint32_t by = 0; by < 2; ++by) {
      for (uint32_t bx = 0; bx < 3; ++bx) {
        for (uint32_t tz = 0; tz < 6; ++tz) {
          for (uint32_t ty = 0; ty < 4; ++ty) {
            for (uint32_t tx = 0; tx < 5; ++tx) {
              ASSERT_EQ(results[next], bx | by << 4 | bz << 8 | tx << 12 | ty << 18 | tz << 24)
                  << next;
              ++next;
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, ControlFlowTest,
    testing::Combine(testing::Values("gfx942", "gfx950"),
                     testing::ValuesIn(Levels(ControlFlowO0CodeObjects, ControlFlowO1CodeObjects,
                                              ControlFlowO2CodeObjects, ControlFlowO3CodeObjects))),
    KernelTest::Name);

}  // namespace
}  // namespace lanewise::hip
