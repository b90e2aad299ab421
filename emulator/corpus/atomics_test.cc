#include <algorithm>
#include <cstdint>
#include <vector>

#include "emulator/corpus/atomics_o0.h"
#include "emulator/corpus/atomics_o1.h"
#include "emulator/corpus/atomics_o2.h"
#include "emulator/corpus/atomics_o3.h"
#include "emulator/corpus/kernel_test.h"
#include "emulator/hip_api/control.h"
#include "gtest/gtest.h"

namespace lanewise::hip {
namespace {

class AtomicsTest : public KernelTest {
 protected:
  void TearDown() override { emulator::SetThreads(0); }
};

TEST_P(AtomicsTest, Histogram) {
  std::vector<uint8_t> values(5000);
  for (uint8_t& value : values) value = static_cast<uint8_t>(random_());
  std::vector<uint32_t> expected(64, 3);
  for (const uint8_t value : values) ++expected[value % 64];
  const Buffer in = In(values);
  const Buffer bins = In(std::vector<uint32_t>(64, 3), "bins");
  Run("Histogram", {{4}, {256}}, in, bins, uint32_t{5000});
  ASSERT_EQ(Read<uint32_t>(bins), expected);
}

// Workgroups take their tickets in their own order, whatever the number of threads.
TEST_P(AtomicsTest, TicketsAreDeterministic) {
  std::vector<uint32_t> expected(256);
  for (uint32_t i = 0; i < 256; ++i) expected[i] = i;
  for (const int threads : {1, 4}) {
    emulator::SetThreads(threads);
    const Buffer counter = In(std::vector<uint32_t>{0}, "counter");
    const Buffer out = Out<uint32_t>(256);
    Run("Tickets", {{4}, {64}}, counter, out);
    ASSERT_EQ(Read<uint32_t>(out), expected) << threads << " threads";
  }
}

TEST_P(AtomicsTest, FloatSumsAreDeterministic) {
  std::vector<float> values(512);
  float expected = 0;
  for (float& value : values) {
    value = static_cast<float>(random_()) / 1e7f;
    expected += value;  // workgroup by workgroup, lane by lane: the emulator's order
  }
  const Buffer in = In(values);
  const Buffer sum = In(std::vector<float>{0.0f}, "sum");
  Run("FloatSum", {{8}, {64}}, in, sum);
  ASSERT_NEAR(Read<float>(sum)[0], expected, 1e-3f * expected);
  const float first = Read<float>(sum)[0];
  emulator::SetThreads(3);
  const Buffer again = In(std::vector<float>{0.0f}, "sum");
  Run("FloatSum", {{8}, {64}}, in, again);
  ASSERT_EQ(Read<float>(again)[0], first);
}

TEST_P(AtomicsTest, CompareAndSwap) {
  std::vector<int> values(256);
  for (int& value : values) value = static_cast<int>(random_());
  const Buffer in = In(values);
  const Buffer top = In(std::vector<int>{INT32_MIN}, "top");
  Run("MaxByCompareAndSwap", {{4}, {64}}, in, top);
  ASSERT_EQ(Read<int>(top)[0], *std::max_element(values.begin(), values.end()));
}

TEST_P(AtomicsTest, Bits64) {
  std::vector<uint64_t> values(128);
  uint64_t ored = 1, added = 5;
  for (uint64_t& value : values) {
    value = static_cast<uint64_t>(random_()) << 32 | random_();
    value &= value << 7;
    ored |= value;
    added += value;
  }
  const Buffer in = In(values);
  const Buffer or_out = In(std::vector<uint64_t>{1}, "ored");
  const Buffer add_out = In(std::vector<uint64_t>{5}, "added");
  Run("Bits64", {{2}, {64}}, in, or_out, add_out);
  ASSERT_EQ(Read<uint64_t>(or_out)[0], ored);
  ASSERT_EQ(Read<uint64_t>(add_out)[0], added);
}

TEST_P(AtomicsTest, WorkgroupsWaitForEarlierOnes) {
  const Buffer sums = Out<uint32_t>(40, "sums");
  const Buffer flags = In(std::vector<uint32_t>(40, 0), "flags");
  Run("Chain", {{40}, {64}}, sums, flags);
  const auto results = Read<uint32_t>(sums);
  for (uint32_t i = 0; i < 40; ++i) ASSERT_EQ(results[i], (i + 1) * (i + 2) / 2) << i;
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, AtomicsTest,
    testing::Combine(testing::Values("gfx942", "gfx950"),
                     testing::ValuesIn(Levels(AtomicsO0CodeObjects, AtomicsO1CodeObjects,
                                              AtomicsO2CodeObjects, AtomicsO3CodeObjects))),
    KernelTest::Name);

// Once is enough: the first workgroup spins for its whole turn.
TEST(GridBarrierTest, WorkgroupsWaitForLaterOnes) {
  auto device = Device::OfArch("gfx942");
  ASSERT_TRUE(device.ok());
  auto module = Module::Load(AtomicsO3CodeObjects(), *device);
  ASSERT_TRUE(module.ok());
  auto kernel = module->Find("GridBarrier");
  ASSERT_TRUE(kernel.ok());
  const std::vector<uint32_t> zero = {0};
  auto arrived = Buffer::Of(std::span<const uint32_t>(zero), "arrived");
  auto out = Buffer::Allocate(2 * sizeof(uint32_t), "out");
  ASSERT_TRUE(arrived.ok() && out.ok());
  const absl::Status status = kernel->Launch({{2}, {64}}, Stream::Default(), *arrived, *out);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(*out->Read<uint32_t>(), (std::vector<uint32_t>{1, 2}));
}

}  // namespace
}  // namespace lanewise::hip
