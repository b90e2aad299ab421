#include "benchmarks/processor.h"

#include "gtest/gtest.h"

namespace lanewise::benchmarks {
namespace {

TEST(Processor, SaysAllOfItself) {
  const Processor processor{"AMD EPYC", 2, "L1 32 KiB, L2 512 KiB", "AVX2"};
  EXPECT_EQ(processor.ToString(), "AMD EPYC, 2 cores, L1 32 KiB, L2 512 KiB, AVX2");
  const Processor here = ThisProcessor();
  EXPECT_FALSE(here.model.empty());
  EXPECT_GE(here.cores, 1);
  EXPECT_FALSE(here.caches.empty());
  ASSERT_FALSE(InstructionSets().empty());
  EXPECT_EQ(here.instruction_set, InstructionSets().front());
}

TEST(Processor, UsesTheInstructionSetThatItIsTold) {
  const absl::Status refused = UseInstructionSet("mmx");
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.ToString().find(InstructionSets().front()), std::string::npos) << refused;
  const std::string last = InstructionSets().back();
  ASSERT_TRUE(UseInstructionSet(last).ok());
  EXPECT_EQ(ThisProcessor().instruction_set, last);
}

}  // namespace
}  // namespace lanewise::benchmarks
