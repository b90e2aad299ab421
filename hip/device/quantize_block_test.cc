// quantize_block.h as kernels use it, against reference::Quantize.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "hip/device/quantize_block_kernels.h"
#include "hip/device/quantizer.h"
#include "hip/runtime/module.h"
#include "reference/quantize/block_code.h"
#include "reference/quantize/mx.h"

namespace lanewise::hip {
namespace {

using reference::QuantizeOptions;

struct Case {
  const char* kernel;
  int lanes;
  QuantizeOptions options;
};

QuantizeOptions Options(BlockRule rule, ElementFormat format, float maximum, float amax_floor,
                        int smallest_code = 0, NonFinite non_finite = NonFinite::kNanBlock) {
  QuantizeOptions options;
  options.rule = rule;
  options.format = format;
  options.maximum = maximum;
  options.amax_floor = amax_floor;
  options.smallest_code = smallest_code;
  options.non_finite = non_finite;
  return options;
}

// The constants of quantize_block_test.hip.
std::vector<Case> Cases() {
  return {
      {"E4m3FnuzDense", 4, Options(BlockRule::kExact, ElementFormat::kE4m3Fnuz, 224.0f, 0x1p-126f)},
      {"E4m3FnuzMoe", 2, Options(BlockRule::kRoundUp, ElementFormat::kE4m3Fnuz, 224.0f, 1e-10f, 1)},
      {"E4m3FnSaturating", 8,
       Options(BlockRule::kRoundedLog2, ElementFormat::kE4m3Fn, 448.0f, 0x1p-126f, 0,
               NonFinite::kSaturate)},
      {"E2m1Even", 1, Options(BlockRule::kEven, ElementFormat::kE2m1, 6.0f, 0.0f)},
      {"E5m2Floor", 4, Options(BlockRule::kFloor, ElementFormat::kE5m2, 57344.0f, 0x1p-126f)},
      {"E5m2FnuzExact", 8, Options(BlockRule::kExact, ElementFormat::kE5m2Fnuz, 57344.0f, 0.0f)},
  };
}

// Blocks of floats of all magnitudes, of one magnitude, and with NaN or infinity.
std::vector<float> Values(int64_t blocks, std::mt19937_64& random) {
  std::vector<float> x;
  for (int64_t block = 0; block < blocks; ++block) {
    const auto top = static_cast<uint32_t>(random() % 0xFF);
    for (int i = 0; i < 32; ++i) {
      const auto below = static_cast<uint32_t>(random() % (block % 2 == 0 ? 12 : 256));
      const uint32_t field = top > below ? top - below : 0;
      const auto rest = static_cast<uint32_t>(random());
      x.push_back(std::bit_cast<float>((rest & 0x807FFFFF) | field << 23));
    }
    if (block % 16 == 3) x.back() = std::numeric_limits<float>::infinity();
    if (block % 16 == 7) x[x.size() - 5] = std::numeric_limits<float>::quiet_NaN();
    if (block % 16 == 11) std::fill(x.end() - 32, x.end(), -0.0f);
  }
  return x;
}

class QuantizeBlockTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    auto module = Module::Load(QuantizeBlockKernelsCodeObjects(), device());
    ASSERT_TRUE(module.ok()) << module.status();
    module_.emplace(*std::move(module));
  }

  std::optional<Module> module_;
};

TEST_P(QuantizeBlockTest, ConstantQuantizersEqualTheReference) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr int64_t kBlocks = 2041;  // a last wave in part
  const std::vector<float> x = Values(kBlocks, random);
  Tensor<float, 2> rows(1, kBlocks * 32);
  std::copy(x.begin(), x.end(), rows.data());
  const Buffer in = In(x, "x");
  for (const Case& each : Cases()) {
    const auto expected = reference::Quantize(rows, each.options);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const Buffer elements = Out(expected->elements.size(), "elements");
    const Buffer codes = Out(kBlocks, "codes");
    const auto groups = static_cast<uint32_t>((kBlocks * each.lanes + 63) / 64);
    const absl::Status status = module_->Find(each.kernel)
                                    ->Launch({.grid = {groups}, .block = {64}}, stream(), in,
                                             elements, codes, static_cast<uint32_t>(kBlocks));
    ASSERT_TRUE(status.ok()) << status;
    const std::vector<uint8_t> got_codes = Read(codes);
    const std::vector<uint8_t> got = Read(elements);
    for (size_t i = 0; i < got_codes.size(); ++i) {
      ASSERT_EQ(got_codes[i], expected->codes.data()[i]) << each.kernel << ", block " << i;
    }
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], expected->elements.data()[i])
          << each.kernel << ", byte " << i << ", x " << x[i * x.size() / got.size()] << ", code "
          << int{got_codes[i * kBlocks / got.size()]};
    }
  }
}

// Magnitudes all over float32, NaN and infinity included, by every rule and maximum: each 16384th,
// or with LANEWISE_NIGHTLY each 256th.
TEST_P(QuantizeBlockTest, CodesOfAllMagnitudes) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const uint32_t step = std::getenv("LANEWISE_NIGHTLY") != nullptr ? 256 : 16384;
  const uint32_t first = static_cast<uint32_t>(seed) % step;
  const uint32_t count = 0x80000000u / step;
  const Buffer out = Out(count, "codes");
  for (const BlockRule rule : kBlockRules) {
    for (const float maximum : {448.0f, 240.0f, 224.0f, 6.0f, 1.0f, 0x1p-126f}) {
      const QuantizeOptions options = Options(rule, ElementFormat::kE4m3Fn, maximum, 0.0f);
      const absl::Status status = module_->Find("Codes")->Launch(
          {.grid = {(count + 255) / 256}, .block = {256}}, stream(), first, step, count,
          Quantizer{.rule = rule, .maximum = maximum, .amax_floor = 0.0f}, out);
      ASSERT_TRUE(status.ok()) << status;
      const std::vector<uint8_t> got = Read(out);
      for (uint32_t i = 0; i < count; ++i) {
        const auto amax = std::bit_cast<float>(first + i * step);
        ASSERT_EQ(got[i], reference::BlockCode(amax, options))
            << "amax " << amax << ", maximum " << maximum << ", rule " << BlockRuleName(rule);
      }
    }
  }
}

TEST_P(QuantizeBlockTest, MaximaOverGroupsOfLanes) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<uint32_t> values(64);
  for (uint32_t& value : values) value = static_cast<uint32_t>(random());
  const Buffer in = In(values);
  const Buffer out = Out(6 * 64 * 4);
  const absl::Status status =
      module_->Find("GroupMaxima")->Launch({.grid = {1}, .block = {64}}, stream(), in, out);
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<uint32_t> got = Read<uint32_t>(out);
  for (size_t i = 0; i < 6; ++i) {
    const size_t lanes = size_t{1} << i;
    for (size_t lane = 0; lane < 64; ++lane) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(lane / lanes * lanes);
      ASSERT_EQ(got[64 * i + lane],
                *std::max_element(first, first + static_cast<std::ptrdiff_t>(lanes)))
          << "lane " << lane << " of groups of " << lanes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, QuantizeBlockTest, testing::ValuesIn(Chips()), LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip
