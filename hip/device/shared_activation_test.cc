// The shared expert's activation, for every gate there is, every bit of the reference.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "formats/formats.h"
#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "hip/device/shared_activation_kernels.h"
#include "hip/runtime/module.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/hardware_math.h"
#include "semantics/swiglu.h"

namespace lanewise::hip::gfx942 {
namespace {

class SharedActivationTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    auto module = Module::Load(SharedActivationKernelsCodeObjects(), device());
    ASSERT_TRUE(module.ok()) << module.status();
    module_.emplace(*std::move(module));
  }

  std::vector<float> Exponentials(const std::vector<float>& x) {
    const Buffer in = In(x, "x");
    const auto count = static_cast<uint32_t>(x.size());
    const Buffer out = Out(4 * int64_t{count});
    const absl::Status status =
        module_->Find("Exponentials")
            ->Launch({.grid = {(count + 255) / 256}, .block = {256}}, stream(), in, out, count);
    EXPECT_TRUE(status.ok()) << status;
    return Read<float>(out);
  }

  std::vector<uint16_t> Activate(const Swiglu& swiglu, const std::vector<uint16_t>& gate,
                                 const std::vector<uint16_t>& up) {
    const Buffer gates = In(gate, "gate"), ups = In(up, "up");
    const auto count = static_cast<uint32_t>(gate.size());
    const Buffer y = Out(2 * int64_t{count}, "y");
    const absl::Status status = module_->Find("Activate")
                                    ->Launch({.grid = {(count + 255) / 256}, .block = {256}},
                                             stream(), gates, ups, y, count, swiglu);
    EXPECT_TRUE(status.ok()) << status;
    return Read<uint16_t>(y);
  }

  std::optional<Module> module_;
};

// Every gate with an up of 1, which shows the inner rounding, and with ups of every kind.
TEST_P(SharedActivationTest, EveryGate) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<uint16_t> gate(65536), one(65536, Bf16::FromFloat(1.0f).bits()), any(65536);
  for (size_t i = 0; i < gate.size(); ++i) {
    gate[i] = static_cast<uint16_t>(i);
    any[i] = static_cast<uint16_t>(random());
  }
  for (const Swiglu& swiglu : {kDeepSeekSwiglu, kGptOssSwiglu, Swiglu{30.0f, -0.5f, -2.0f}}) {
    for (const std::vector<uint16_t>& up : {one, any}) {
      const std::vector<uint16_t> y = Activate(swiglu, gate, up);
      for (size_t i = 0; i < y.size(); ++i) {
        const Bf16 g = Bf16::FromBits(gate[i]), u = Bf16::FromBits(up[i]);
        ASSERT_EQ(y[i], reference::ActivateSharedExpert(swiglu, g, u).bits())
            << "alpha " << swiglu.alpha << ", gate " << g.ToFloat() << ", up " << u.ToFloat();
      }
    }
  }
}

// Of floats that have an exponential of their own one in 2^27 may be the wrong neighbour.
TEST_P(SharedActivationTest, ExponentialsAreTheNearest) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<float> x = {0.0f,   -0.0f,   INFINITY, -INFINITY, 89.0f,   -105.0f,
                          88.72f, -87.34f, -103.9f,  -104.0f,   0x1p-30f};
  const size_t count = std::getenv("LANEWISE_NIGHTLY") != nullptr ? 20'000'000 : 300'000;
  while (x.size() < count) {
    // Magnitudes from 2^-26 to 2^7, and now and then any.
    uint32_t bits = static_cast<uint32_t>(random());
    if (x.size() % 16 != 0) bits = (bits & 0x807FFFFF) | ((101 + random() % 33) << 23);
    const auto value = std::bit_cast<float>(bits);
    if (!std::isnan(value)) x.push_back(value);
  }
  const std::vector<float> got = Exponentials(x);
  int wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const float expected = reference::Exp(x[i]);
    if (got[i] == expected) continue;
    ++wrong;
    ASSERT_TRUE(std::nextafter(got[i], expected) == expected)
        << "of " << x[i] << ": " << got[i] << ", expected " << expected;
  }
  EXPECT_LE(wrong, 2);
}

INSTANTIATE_TEST_SUITE_P(Chips, SharedActivationTest, testing::Values("gfx942"),
                         LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip::gfx942
