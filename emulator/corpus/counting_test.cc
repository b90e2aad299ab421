// Counters against counts by hand.

#include "emulator/corpus/counting.h"

#include <cstdint>
#include <vector>

#include "emulator/corpus/kernel_test.h"
#include "emulator/hip_api/control.h"
#include "gtest/gtest.h"

namespace lanewise::hip {
namespace {

using emulator::InstructionClass;
using emulator::LastLaunchCounters;
using emulator::LaunchCounters;

class CountingTest : public KernelTest {
 protected:
  void TearDown() override { emulator::SetThreads(0); }

  LaunchCounters Strided(uint32_t stride, uint32_t n) {
    const Buffer in = In(std::vector<uint32_t>(256 * 64, 7));
    const Buffer out = Out<uint32_t>(256);
    Run("Strided", {{4}, {64}}, in, out, stride, n);
    return LastLaunchCounters();
  }
  uint64_t LdsConflicts(uint32_t stride) {
    const Buffer in = In(std::vector<uint32_t>(64, 7));
    const Buffer out = Out<uint32_t>(64);
    Run("StridedLds", {{1}, {64}}, in, out, stride);
    return LastLaunchCounters().lds_bank_conflicts;
  }
};

TEST_P(CountingTest, GlobalBytesLinesAndSegments) {
  const LaunchCounters packed = Strided(1, 256);
  EXPECT_EQ(packed.workgroups, 4u);
  EXPECT_EQ(packed.waves, 4u);
  EXPECT_EQ(packed.Count(InstructionClass::kGlobalLoad), 4u);
  EXPECT_EQ(packed.Count(InstructionClass::kGlobalStore), 4u);
  EXPECT_EQ(packed.loads.bytes, 1024u);
  EXPECT_EQ(packed.loads.lines, 8u);      // 256 bytes a wave: 2 lines
  EXPECT_EQ(packed.loads.segments, 16u);  // and 4 segments
  EXPECT_EQ(packed.stores.bytes, 1024u);
  EXPECT_EQ(packed.stores.lines, 8u);

  const LaunchCounters spread = Strided(32, 256);
  EXPECT_EQ(spread.loads.bytes, 1024u);
  EXPECT_EQ(spread.loads.lines, 256u);  // a line for each work-item
  EXPECT_EQ(spread.loads.segments, 256u);

  const LaunchCounters half_lines = Strided(16, 256);
  EXPECT_EQ(half_lines.loads.lines, 128u);
  EXPECT_EQ(half_lines.loads.segments, 256u);

  // 100 work-items: two workgroups, 36 lanes of the second, and none of the others.
  const LaunchCounters part = Strided(1, 100);
  EXPECT_EQ(part.loads.bytes, 400u);
  EXPECT_EQ(part.loads.lines, 2u + 2u);
  EXPECT_EQ(part.Count(InstructionClass::kGlobalLoad), 2u);
}

TEST_P(CountingTest, CountsDoNotDependOnThreads) {
  emulator::SetThreads(1);
  const LaunchCounters one = Strided(3, 250);
  emulator::SetThreads(4);
  const LaunchCounters four = Strided(3, 250);
  EXPECT_EQ(emulator::CountersText(one), emulator::CountersText(four));
}

TEST_P(CountingTest, LdsBankConflicts) {
  // The loop that fills LDS writes consecutive words, which costs none.
  EXPECT_EQ(LdsConflicts(1), 0u);
  // Two groups of 32 lanes: with stride s each bank has 32 gcd(s, 32) / 32 dwords.
  EXPECT_EQ(LdsConflicts(2), 2u);
  EXPECT_EQ(LdsConflicts(4), 2u * 3);
  EXPECT_EQ(LdsConflicts(32), 2u * 31);
  EXPECT_EQ(LdsConflicts(33), 0u);
  EXPECT_EQ(LdsConflicts(0), 0u);  // one dword for all: a broadcast
}

TEST_P(CountingTest, MatrixInstructions) {
  const Buffer in = In(std::vector<int64_t>(64, 0));
  const Buffer out = Out<float>(256);
  Run("FourMatrixInstructions", {{3}, {64}}, in, out);
  const LaunchCounters counters = LastLaunchCounters();
  EXPECT_EQ(counters.Count(InstructionClass::kMatrix), 12u);
  // 16 x 16 x 32 products of fp8: 4 passes of 4 cycles on either chip.
  EXPECT_EQ(counters.matrix_cycles, 12u * 16);
}

TEST_P(CountingTest, Atomics) {
  const Buffer sum = In(std::vector<uint32_t>{0});
  Run("OneAtomic", {{2}, {32}}, sum);
  EXPECT_EQ(Read<uint32_t>(sum)[0], 64u);
  // The compiler adds a wave's lanes up first: one lane each does the atomic.
  EXPECT_EQ(LastLaunchCounters().atomics.bytes, 8u);
  EXPECT_EQ(LastLaunchCounters().atomics.lines, 2u);
}

TEST_P(CountingTest, RecordingsTellAllocationsApart) {
  const Buffer in = In(std::vector<uint32_t>(256 * 8, 7), "numbers");
  const Buffer out = Out<uint32_t>(256, "results");
  emulator::StartRecording();
  Run("Strided", {{4}, {64}}, in, out, 1u, 256u);
  Run("Strided", {{4}, {64}}, in, out, 8u, 100u);
  const emulator::Recording recording = emulator::StopRecording();
  Run("Strided", {{4}, {64}}, in, out, 1u, 256u);  // after the end
  ASSERT_EQ(recording.launches.size(), 2u);
  EXPECT_EQ(recording.launches[0].kernel, "Strided");
  EXPECT_EQ(recording.launches[0].counters.loads.bytes, 1024u);
  EXPECT_EQ(recording.launches[1].counters.loads.bytes, 400u);

  const emulator::AllocationTraffic numbers = recording.Named("numbers");
  EXPECT_EQ(numbers.size, 256u * 8 * 4);
  EXPECT_EQ(numbers.loads.bytes, 1024u + 400u);
  EXPECT_EQ(numbers.stores.bytes, 0u);
  EXPECT_EQ(numbers.load_instructions, 4u + 2u);
  // Words 0 .. 255 lie in 8 lines; words 0, 8, .. 792, four a line, in 25, of which the first 8
  // are the same.
  EXPECT_EQ(numbers.loads.lines, 8u + 25u);
  EXPECT_EQ(numbers.distinct_lines, 25u);
  EXPECT_EQ(numbers.fetched_bytes, 1024u + 400u);
  const emulator::AllocationTraffic results = recording.Named("results");
  EXPECT_EQ(results.loads.bytes, 0u);
  EXPECT_EQ(results.stores.bytes, 1024u + 400u);
  EXPECT_EQ(results.distinct_lines, 0u);  // of loads
  EXPECT_EQ(recording.Named("nobody").size, 0u);

  // All lanes of a wave ask for one word: 256 bytes asked for, 4 fetched.
  emulator::StartRecording();
  Run("Strided", {{4}, {64}}, in, out, 0u, 256u);
  const emulator::AllocationTraffic word = emulator::StopRecording().Named("numbers");
  EXPECT_EQ(word.loads.bytes, 1024u);
  EXPECT_EQ(word.fetched_bytes, 4u * 4u);
  EXPECT_EQ(word.distinct_lines, 1u);
  // A new recording begins empty.
  emulator::StartRecording();
  EXPECT_TRUE(emulator::StopRecording().allocations.empty());
}

// The scalar unit's loads are traffic of the allocation too: the kernel's arguments, here.
TEST_P(CountingTest, RecordingsHoldScalarLoads) {
  emulator::StartRecording();
  const LaunchCounters counters = Strided(1, 256);
  uint64_t loaded = 0;
  for (const emulator::AllocationTraffic& each : emulator::StopRecording().allocations) {
    loaded += each.loads.bytes;
  }
  EXPECT_EQ(loaded, counters.loads.bytes + counters.scalar_load_bytes);
}

TEST_P(CountingTest, KernelResources) {
  LdsConflicts(1);
  const LaunchCounters counters = LastLaunchCounters();
  EXPECT_EQ(counters.lds_bytes, 16384);
  EXPECT_EQ(counters.private_bytes, 0);
  // 16 KiB a workgroup of one wave: 4 workgroups in 64 KiB, 10 in 160 KiB, over 4 SIMDs.
  EXPECT_EQ(counters.waves_per_simd, IsGfx950() ? 3 : 1);
  EXPECT_EQ(counters.lds_write_bytes, 16384u);
  EXPECT_EQ(counters.lds_read_bytes, 256u);
}

INSTANTIATE_TEST_SUITE_P(Counters, CountingTest,
                         testing::Combine(testing::Values("gfx942", "gfx950"),
                                          testing::Values(Level{"O3", CountingCodeObjects})),
                         KernelTest::Name);

}  // namespace
}  // namespace lanewise::hip
