// The launchers can be captured in a graph: on a card, for the emulator has no graphs.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hip/common/drop_negative_zero.h"
#include "hip/common/launcher_test.h"
#include "hip/common/layout_copy.h"
#include "hip/common/mx_dequantize.h"
#include "hip/common/mx_quantize.h"
#include "hip/common/permute_q.h"
#include "hip/runtime/graph.h"

namespace lanewise::hip {
namespace {

class CaptureTest : public LauncherTest {};

// A chain through every launcher. Launched again on other data, the graph leaves what launches one
// by one leave.
TEST_P(CaptureTest, AGraphOfEveryLauncher) {
  if (device().name().find("(emulated)") != std::string::npos) {
    const auto graph = Graph::Capture([](const Stream&) { return absl::OkStatus(); });
    EXPECT_EQ(graph.status().code(), absl::StatusCode::kUnimplemented) << graph.status();
    return;
  }
  constexpr int64_t kRows = 64, kColumns = 2880, kElements = kRows * kColumns;
  const auto quantize = MxQuantize::Load(device());
  const auto dequantize = MxDequantize::Load(device());
  const auto copy = LayoutCopy::Load(device());
  const auto permute = PermuteQ::Load(device());
  const auto drop = DropNegativeZero::Load(device());
  ASSERT_TRUE(quantize.ok() && dequantize.ok() && copy.ok() && permute.ok() && drop.ok());

  Buffer x = Out(2 * kElements, "x");
  const Buffer elements = Out(kElements), codes = Out(kElements / 32), packed = Out(kElements);
  const Buffer back = Out(2 * kElements, "back"), fused = Out(2 * kElements, "fused");
  const Buffer changed = In(std::vector<uint64_t>(1), "changed");
  const auto queue = [&](const Stream& stream) -> absl::Status {
    absl::Status status = quantize->Launch({.rows = kRows, .columns = kColumns},
                                           {x.data(), elements.data(), codes.data()}, stream);
    status.Update(drop->Launch({.elements = DropNegativeZero::Elements::kE4m3, .bytes = kElements},
                               {elements.data(), static_cast<uint64_t*>(changed.data())}, stream));
    // With a remainder: two launches.
    status.Update(copy->Launch({.tag = "gfx942/fp4_tile_major", .extents = {kRows, kColumns}},
                               {elements.data(), packed.data()}, stream));
    status.Update(dequantize->Launch({.rows = kRows, .columns = kColumns},
                                     {elements.data(), codes.data(), back.data()}, stream));
    status.Update(permute->Launch({.tokens = kRows, .heads = 5, .head_dim = kColumns / 5},
                                  {back.data(), fused.data()}, stream));
    return status;
  };
  const absl::StatusOr<Graph> graph = Graph::Capture(queue);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(Read(fused), std::vector<uint8_t>(2 * kElements, kPoison));  // nothing has run yet

  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Stream ours = *Stream::Create();
  for (int round = 0; round < 3; ++round) {
    std::vector<uint8_t> bits(2 * kElements);
    for (uint8_t& byte : bits) byte = static_cast<uint8_t>(random());
    ASSERT_TRUE(x.CopyFrom(std::span<const uint8_t>(bits)).ok());
    ASSERT_TRUE(graph->Launch(ours).ok());
    ASSERT_TRUE(ours.Synchronize().ok());
    const std::vector<uint8_t> got[] = {Read(packed), Read(codes), Read(fused)};
    ASSERT_TRUE(queue(ours).ok());
    ASSERT_TRUE(ours.Synchronize().ok());
    EXPECT_TRUE(got[0] == Read(packed)) << "round " << round;
    EXPECT_TRUE(got[1] == Read(codes)) << "round " << round;
    EXPECT_TRUE(got[2] == Read(fused)) << "round " << round;
    EXPECT_FALSE(got[0] == std::vector<uint8_t>(kElements, kPoison));
  }
}

// An allocation is not work that a graph may hold; the capture ends with an error, and the device
// goes on.
TEST_P(CaptureTest, AnErrorEndsTheCapture) {
  if (device().name().find("(emulated)") != std::string::npos) return;
  const auto refused = Graph::Capture([](const Stream&) { return absl::AbortedError("no"); });
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAborted);
  const auto waits = Graph::Capture([](const Stream& stream) { return stream.Synchronize(); });
  EXPECT_FALSE(waits.ok());
  EXPECT_TRUE(Graph::Capture([](const Stream&) { return absl::OkStatus(); }).ok());
}

INSTANTIATE_TEST_SUITE_P(Chips, CaptureTest, testing::ValuesIn(Chips()), LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip
