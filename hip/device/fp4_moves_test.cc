// fp4_moves.h: each nibble moves by itself, so every pair of neighbouring bytes at every place of
// the dword is every case there is, neighbours included.

#include "formats/formats.h"
#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "hip/device/fp4_moves_kernels.h"
#include "hip/runtime/module.h"

namespace lanewise::hip {
namespace {

class Fp4MovesTest : public LauncherTest {};

TEST_P(Fp4MovesTest, EveryNibbleAtEveryPlace) {
  absl::StatusOr<Module> module = Module::Load(Fp4MovesKernelsCodeObjects(), device());
  ASSERT_TRUE(module.ok()) << module.status();
  constexpr uint32_t kCount = 1 << 16;
  const Buffer even = Out(4 * kCount, "even");
  const Buffer odd = Out(4 * kCount, "odd");
  // All 16-bit values in the low half, in the middle, and in the high half.
  for (const uint32_t multiplier : {1u, 1u << 8, 1u << 16}) {
    const absl::Status status = module->Find("MoveFp4")->Launch(
        {.grid = {kCount / 256}, .block = {256}}, stream(), 0u, multiplier, even, odd);
    ASSERT_TRUE(status.ok()) << status;
    const std::vector<uint32_t> evens = Read<uint32_t>(even);
    const std::vector<uint32_t> odds = Read<uint32_t>(odd);
    for (uint32_t i = 0; i < kCount; ++i) {
      for (uint32_t k = 0; k < 8; ++k) {
        const auto nibble = static_cast<uint8_t>(i * multiplier >> (4 * k) & 15);
        const auto got = static_cast<uint8_t>((k % 2 == 0 ? evens : odds)[i] >> (8 * (k / 2)));
        if (nibble == 8) {  // -0: prepared weights have none.
          ASSERT_EQ(got, 0x80) << "dword " << i * multiplier << ", k " << k;
          continue;
        }
        const float value = E2m1::FromBits(nibble).ToFloat() * 0x1p-7f;
        ASSERT_EQ(E4m3Fnuz::FromBits(got).ToFloat(), value)
            << "dword " << i * multiplier << ", k " << k << ", byte " << int{got};
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Fp4MovesTest, testing::ValuesIn(Chips()), LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip
