// Every kind of the checker's reports, provoked.

#include "emulator/corpus/faulty.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "emulator/corpus/kernel_test.h"
#include "emulator/hip_api/control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise::hip {
namespace {

using testing::HasSubstr;

class FaultyTest : public KernelTest {
 protected:
  void TearDown() override { emulator::SetChecks(emulator::kAllChecks); }

  // Launches a kernel of (out) or (in, out) with 64 words each, and returns its status.
  absl::Status TryOut(const char* kernel, uint32_t items = 64) {
    const Buffer out = Out<uint32_t>(items, "the output");
    return TryRun(kernel, {{1}, {items}}, out);
  }
  absl::Status TryInOut(const char* kernel) {
    const Buffer in = In(std::vector<uint32_t>(64, 0), "the input");
    const Buffer out = Out<uint32_t>(64, "the output");
    return TryRun(kernel, {{1}, {64}}, in, out);
  }

  // The report says what, and where: kernel, wave, pc, line, instruction.
  static void ExpectReport(const absl::Status& status, const std::string& kernel,
                           const std::vector<std::string>& parts) {
    ASSERT_FALSE(status.ok()) << kernel;
    const std::string message(status.message());
    EXPECT_THAT(message, HasSubstr("kernel " + kernel));
    EXPECT_THAT(message, HasSubstr("wave "));
    EXPECT_THAT(message, HasSubstr("pc 0x"));
    EXPECT_THAT(message, HasSubstr("faulty.hip:"));
    for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part));
  }
  // With that check off nothing is wrong.
  template <typename Try>
  static void ExpectCheckedBy(emulator::Checks check, Try attempt) {
    emulator::SetChecks(emulator::kAllChecks & ~check);
    const absl::Status status = attempt();
    EXPECT_TRUE(status.ok()) << status;
    emulator::SetChecks(emulator::kAllChecks);
  }
};

TEST_P(FaultyTest, UnwrittenRegisters) {
  ExpectReport(TryOut("ReadsUnwrittenRegister"), "ReadsUnwrittenRegister",
               {"reads v77 of lane 0, which was never written", "v_add_u32"});
  ExpectReport(TryOut("StoresUnwrittenRegister"), "StoresUnwrittenRegister",
               {"stores v", "of lane 0, which was never written", "global_store_dword"});
  ExpectReport(TryOut("ReadsUnwrittenScalar"), "ReadsUnwrittenScalar",
               {"reads s77, which was never written", "s_add_u32"});
  for (const char* kernel :
       {"ReadsUnwrittenRegister", "StoresUnwrittenRegister", "ReadsUnwrittenScalar"}) {
    ExpectCheckedBy(emulator::kCheckUninitialised, [&] { return TryOut(kernel); });
  }
}

TEST_P(FaultyTest, CopiesOfUnwrittenRegistersAreNoMistake) {
  const absl::Status status = TryOut("CopiesAreNoUse");
  EXPECT_TRUE(status.ok()) << status;
}

TEST_P(FaultyTest, WhatLooksLikeAMistakeAndIsNone) {
  for (const char* kernel :
       {"DropsUnwrittenLds", "ReadsLdsTwiceIntoARegister", "ConvertsIntoAHalf"}) {
    const absl::Status status = TryOut(kernel);
    EXPECT_TRUE(status.ok()) << kernel << ": " << status;
  }
  const absl::Status status = TryOut("WritesTheSameInLds", 128);
  EXPECT_TRUE(status.ok()) << status;
  ExpectReport(TryOut("WritesDifferentlyInLds", 128), "WritesDifferentlyInLds",
               {"LDS write of 4 bytes at 0x0 by lane 0 of wave 1 races with a write of wave 0"});
}

TEST_P(FaultyTest, UnwrittenLds) {
  ExpectReport(TryOut("ReadsUnwrittenLds"), "ReadsUnwrittenLds",
               {"stores v", " of lane 24, read from LDS where byte 256 was never written"});
  ExpectCheckedBy(emulator::kCheckUninitialised, [&] { return TryOut("ReadsUnwrittenLds"); });
}

TEST_P(FaultyTest, RacesInLds) {
  // Wave 0 reads first here, what nobody wrote.
  ExpectReport(TryOut("RacesInLds", 128), "RacesInLds", {"was never written"});
  emulator::SetChecks(emulator::kCheckRaces);
  ExpectReport(TryOut("RacesInLds", 128), "RacesInLds",
               {"LDS write of 4 bytes at 0x100 by lane 0 of wave 1 races with a read of wave 0",
                "no barrier between them"});
  emulator::SetChecks(emulator::kAllChecks);
  ExpectReport(TryOut("OverwritesWhatOthersRead", 128), "OverwritesWhatOthersRead",
               {"LDS write of 4 bytes at 0x0 by lane 0 of wave 1 races with a read of wave 0"});
  ExpectCheckedBy(emulator::kCheckRaces, [&] { return TryOut("OverwritesWhatOthersRead", 128); });
}

TEST_P(FaultyTest, AddressesOutsideOfEverything) {
  ExpectReport(TryInOut("ReadsPastTheEnd"), "ReadsPastTheEnd",
               {"global read of 4 bytes at 0x", "by lane 60", "outside of every allocation",
                "the nearest is the input of 256 bytes, which ends 0 bytes before"});
  ExpectReport(TryInOut("WritesThroughNull"), "WritesThroughNull",
               {"global write of 4 bytes at 0x0 by lane 0", "outside of every allocation"});
  ExpectReport(TryInOut("ReadsLdsPastTheEnd"), "ReadsLdsPastTheEnd",
               {"LDS read of 4 bytes at 0x3e80 by lane 0", "outside of the workgroup's 256 bytes"});
  ExpectReport(TryInOut("WritesScratchPastTheEnd"), "WritesScratchPastTheEnd",
               {"scratch write of 4 bytes", "by lane 0", "outside of the lane's"});
  // Not even without checks.
  emulator::SetChecks(0);
  EXPECT_FALSE(TryInOut("ReadsPastTheEnd").ok());
}

TEST_P(FaultyTest, Misaligned) {
  ExpectReport(TryInOut("Misaligned"), "Misaligned",
               {"scalar load at 0x", "misaligned: no multiple of 4"});
  ExpectReport(TryInOut("MisalignedLanes"), "MisalignedLanes",
               {"global read of 4 bytes at 0x", "by lane 0", "misaligned: no multiple of 4"});
  ExpectReport(TryInOut("MisalignedLds"), "MisalignedLds",
               {"LDS read of 8 bytes at 0x2 by lane 0", "misaligned: no multiple of 4"});
  for (const char* kernel : {"Misaligned", "MisalignedLanes", "MisalignedLds"}) {
    ExpectCheckedBy(emulator::kCheckAlignment, [&] { return TryInOut(kernel); });
  }
}

TEST_P(FaultyTest, LoadsUsedBeforeTheirWait) {
  ExpectReport(TryInOut("UsesLoadTooEarly"), "UsesLoadTooEarly",
               {"reads v", "before the load into it was awaited (s_waitcnt vmcnt)"});
  ExpectReport(TryInOut("AwaitsTooFew"), "AwaitsTooFew",
               {"reads v", "before the load into it was awaited (s_waitcnt vmcnt)"});
  ExpectReport(TryInOut("OverwritesLoadInFlight"), "OverwritesLoadInFlight",
               {"overwrites v", "before the load into it was awaited (s_waitcnt vmcnt)"});
  ExpectReport(TryInOut("UsesScalarLoadTooEarly"), "UsesScalarLoadTooEarly",
               {"reads s", "before the load into it was awaited (s_waitcnt lgkmcnt)"});
  ExpectReport(TryOut("UsesLdsReadTooEarly"), "UsesLdsReadTooEarly",
               {"reads v", "before the load into it was awaited (s_waitcnt lgkmcnt)"});
  ExpectReport(TryInOut("ReadsLdsBeforeItArrives"), "ReadsLdsBeforeItArrives",
               {"LDS read of 4 bytes", "awaited (s_waitcnt vmcnt) the global-to-LDS load"});
  for (const char* kernel : {"UsesLoadTooEarly", "AwaitsTooFew", "OverwritesLoadInFlight",
                             "UsesScalarLoadTooEarly", "ReadsLdsBeforeItArrives"}) {
    ExpectCheckedBy(emulator::kCheckWaits, [&] { return TryInOut(kernel); });
  }
}

TEST_P(FaultyTest, WhatCannotBeExecuted) {
  ExpectReport(TryOut("Traps"), "Traps", {"s_trap", "the kernel trapped"});
  ExpectReport(TryOut("HoldsNoInstruction"), "HoldsNoInstruction",
               {"these bytes are no instruction of this chip"});
}

TEST_P(FaultyTest, LaunchesThatDoNotFit) {
  const Buffer out = Out<uint32_t>(64);
  EXPECT_THAT(std::string(TryRun("Traps", {{1}, {2000}}, out).message()),
              HasSubstr("2000 work-items, it was compiled for at most 1024"));
  EXPECT_THAT(std::string(TryRun("Traps", {{0}, {64}}, out).message()), HasSubstr("empty grid"));
  EXPECT_THAT(std::string(TryRun("Traps", {{1}, {64}, 200000}, out).message()),
              HasSubstr("200000 bytes of LDS"));
  EXPECT_THAT(std::string(TryRun("Traps", {{1}, {64}}, out, 1).message()),
              HasSubstr("2 arguments, it takes 1"));
  EXPECT_THAT(std::string(TryRun("Traps", {{1}, {64}}, 1).message()),
              HasSubstr("argument 0 has 4 bytes, it takes 8"));
  EXPECT_THAT(std::string(TryRun("Trap", {{1}, {64}}, out).message()),
              HasSubstr("no kernel Trap; there are: "));
}

INSTANTIATE_TEST_SUITE_P(Checker, FaultyTest,
                         testing::Combine(testing::Values("gfx942", "gfx950"),
                                          testing::Values(Level{"g", FaultyCodeObjects})),
                         KernelTest::Name);

}  // namespace
}  // namespace lanewise::hip
