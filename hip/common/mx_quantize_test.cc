// The device's quantizer against reference::Quantize, every byte, on both chips.

#include "hip/common/mx_quantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "reference/quantize/mx.h"

namespace lanewise::hip {
namespace {

using testing::HasSubstr;

struct Target {
  ElementFormat format;
  float maximum;
};
constexpr Target kTargets[] = {
    {ElementFormat::kE4m3Fn, 448.0f},
    {ElementFormat::kE4m3Fnuz, 240.0f},
    {ElementFormat::kE4m3Fnuz, 224.0f},
    {ElementFormat::kE2m1, 6.0f},
};

reference::QuantizeOptions OptionsOf(const Quantizer& quantizer, ElementFormat format) {
  return {.rule = quantizer.rule,
          .format = format,
          .maximum = quantizer.maximum,
          .amax_floor = quantizer.amax_floor,
          .smallest_code = static_cast<int>(quantizer.smallest_code),
          .non_finite = quantizer.non_finite};
}

// Every rule with every policy, floor and smallest code.
std::vector<Quantizer> Quantizers(float maximum) {
  std::vector<Quantizer> all;
  for (const BlockRule rule : kBlockRules) {
    for (const NonFinite non_finite : {NonFinite::kNanBlock, NonFinite::kSaturate}) {
      for (const float floor : {0.0f, 0x1p-126f, 1e-10f}) {
        for (const uint32_t smallest : {0u, 1u}) {
          all.push_back({rule, non_finite, maximum, floor, smallest});
        }
      }
    }
  }
  return all;
}

std::string Describe(const Quantizer& q) {
  return "rule " + std::string(BlockRuleName(q.rule)) + ", non_finite " +
         std::string(NonFiniteName(q.non_finite)) + ", maximum " + std::to_string(q.maximum) +
         ", floor " + std::to_string(q.amax_floor) + ", smallest code " +
         std::to_string(q.smallest_code);
}

float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }
uint16_t UpperHalf(float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); }

class MxQuantizeTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    auto kernels = MxQuantize::Load(device());
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    kernels_.emplace(*std::move(kernels));
  }

  // x [rows, columns], quantized from float32, or from bfloat16 where `bf16`: then x's values must
  // be bfloat16 numbers. Compares with the reference.
  void Compare(const std::vector<float>& x, int64_t rows, const Target& target,
               const Quantizer& quantizer, bool bf16, int64_t gap = 0) {
    const int64_t columns = static_cast<int64_t>(x.size()) / rows;
    Tensor<float, 2> values(rows, columns);
    std::copy(x.begin(), x.end(), values.data());
    const auto expected = reference::Quantize(values, OptionsOf(quantizer, target.format));
    ASSERT_TRUE(expected.ok()) << expected.status();

    // Between rows lies what must not be read as part of a block.
    const int64_t stride = columns + gap;
    std::vector<uint8_t> bytes(static_cast<size_t>((rows * stride - gap) * (bf16 ? 2 : 4)), 0x7F);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < columns; ++k) {
        const float value = x[static_cast<size_t>(row * columns + k)];
        const size_t at = static_cast<size_t>(row * stride + k);
        if (bf16) {
          reinterpret_cast<uint16_t*>(bytes.data())[at] = UpperHalf(value);
        } else {
          reinterpret_cast<float*>(bytes.data())[at] = value;
        }
      }
    }
    const Buffer in = In(bytes, "x");
    const int64_t element_bytes = target.format == ElementFormat::kE2m1 ? columns / 2 : columns;
    const Buffer elements = Out(rows * element_bytes, "elements");
    const Buffer codes = Out(rows * columns / 32, "codes");
    const MxQuantize::Problem problem = {.input = bf16 ? FloatType::kBf16 : FloatType::kF32,
                                         .format = target.format,
                                         .quantizer = quantizer,
                                         .rows = rows,
                                         .columns = columns,
                                         .row_stride = gap == 0 ? 0 : stride};
    const absl::Status status =
        kernels_->Launch(problem, {in.data(), elements.data(), codes.data()}, stream());
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(stream().Synchronize().ok());

    const std::vector<uint8_t> got_codes = Read(codes);
    for (size_t i = 0; i < got_codes.size(); ++i) {
      ASSERT_EQ(got_codes[i], expected->codes.data()[i])
          << "code of row " << i / (columns / 32) << ", block " << i % (columns / 32) << "; "
          << Describe(quantizer);
    }
    const std::vector<uint8_t> got = Read(elements);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], expected->elements.data()[i])
          << "byte of row " << i / element_bytes << ", column byte " << i % element_bytes << ", x "
          << x[i * columns / element_bytes] << ", block code "
          << int{got_codes[i * columns / element_bytes / 32]} << "; " << Describe(quantizer);
    }
    ASSERT_EQ(Read(in), bytes) << "x has changed";
  }

  std::optional<MxQuantize> kernels_;
};

// A block for each amax: it stands somewhere, either sign, with smaller numbers of all sizes, zeros
// and ties around it.
std::vector<float> BlocksOf(const std::vector<float>& amaxes, std::mt19937_64& random, bool bf16) {
  const uint32_t kept = bf16 ? 0xFFFF0000 : 0xFFFFFFFF;
  std::vector<float> x;
  for (const float amax : amaxes) {
    const uint64_t place = random() % 32;
    for (uint64_t i = 0; i < 32; ++i) {
      const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
      float value = amax;
      if (i != place && std::isfinite(amax)) {
        const auto sixteenths = static_cast<float>(random() % 17) / 16;
        const uint64_t kind = random() % 8;
        value = kind == 0   ? 0.0f
                : kind == 1 ? std::ldexp(amax, -static_cast<int>(random() % 24))
                : kind < 5  ? amax * sixteenths * 0.25f
                            : amax * static_cast<float>(random() % 65536) / 65536;
      }
      // Not by a condition around the mask: g++ 12 drops it then.
      x.push_back(sign * FromBits(std::bit_cast<uint32_t>(value) & kept));
    }
  }
  return x;
}

TEST_P(MxQuantizeTest, EveryBf16MagnitudeAsAmax) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<float> amaxes;
  for (uint32_t bits = 0; bits < 0x8000; bits += 1) amaxes.push_back(FromBits(bits << 16));
  const std::vector<float> x = BlocksOf(amaxes, random, true);
  for (const Target& target : kTargets) {
    // One policy each; what they do to finite blocks is the same.
    Compare(x, 64, target, {.maximum = target.maximum}, true);
    const auto all = Quantizers(target.maximum);
    Compare(x, 64, target, all[random() % all.size()], true);
    if (HasFatalFailure()) return;
  }
}

TEST_P(MxQuantizeTest, EveryQuantizerNearPowersOfTwoTimesTheMaximum) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const Target& target : kTargets) {
    // Where rules part: around maximum 2^k by a few ulp, powers of two, the ends, subnormals.
    std::vector<float> amaxes = {0.0f,
                                 0x1p-149f,
                                 0x1p-126f,
                                 0x1p-127f,
                                 0x1.fffffep-127f,
                                 std::numeric_limits<float>::max(),
                                 std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN(),
                                 FromBits(0xFF800001),
                                 1e-10f};
    for (const int k :
         {-149, -140, -130, -127, -126, -125, -65, -33, -17, -4, 0, 3, 8, 64, 119, 125}) {
      for (const int ulps : {-1, 0, 1, 2, 11, 12, 22, 23, 39, 44, 45}) {
        const uint32_t bits =
            std::bit_cast<uint32_t>(std::ldexp(target.maximum, k)) + static_cast<uint32_t>(ulps);
        if (bits < 0x7F800000) amaxes.push_back(FromBits(bits));
      }
      amaxes.push_back(std::ldexp(1.75f, k));
      amaxes.push_back(std::ldexp(1.0f, k));
    }
    while (amaxes.size() % 4 != 0) amaxes.push_back(FromBits(random() % 0x7F800000));
    const std::vector<float> x = BlocksOf(amaxes, random, false);
    for (const Quantizer& quantizer : Quantizers(target.maximum)) {
      Compare(x, 4, target, quantizer, false);
      if (HasFatalFailure()) return;
    }
  }
}

// All float32 that matter to an element: around every tie, at code 127.
TEST_P(MxQuantizeTest, EveryTieOfEveryFormat) {
  for (const Target& target : kTargets) {
    std::vector<float> values;
    for (uint32_t bits = std::bit_cast<uint32_t>(0x1p-13f);
         bits <= std::bit_cast<uint32_t>(target.maximum); bits += 1u << 18) {
      for (const int ulp : {-1, 0, 1})
        values.push_back(FromBits(bits + static_cast<uint32_t>(ulp)));
    }
    std::vector<float> x;
    for (size_t i = 0; i < values.size(); ++i) {
      if (x.size() % 32 == 0) x.push_back(target.maximum);
      const float value = std::min(values[i], target.maximum);
      x.push_back(value);
      if (x.size() % 32 == 0) x.push_back(-target.maximum);
      x.push_back(-value);
    }
    while (x.size() % 32 != 0) x.push_back(-0.0f);
    Compare(x, 1, target, {.maximum = target.maximum}, false);
    if (HasFatalFailure()) return;
  }
}

TEST_P(MxQuantizeTest, NonFiniteBlocks) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x(32 * 8, 1.0f);
  x[5] = inf;
  x[32 + 31] = -inf;
  x[64] = nan;
  x[96 + 1] = inf;
  x[96 + 2] = nan;
  x[128 + 7] = 0x1.fep127f;
  x[160 + 7] = -nan;
  for (int i = 192; i < 224; ++i) x[i] = -0.0f;
  for (const Target& target : kTargets) {
    for (const Quantizer& quantizer : Quantizers(target.maximum)) {
      Compare(x, 2, target, quantizer, false);
      Compare(x, 4, target, quantizer, true);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(MxQuantizeTest, ShapesTailsAndStrides) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const bool bf16 : {false, true}) {
    for (const auto& [rows, columns, gap] : {std::array<int64_t, 3>{1, 32, 0},
                                             {3, 32, 8},
                                             {1, 64, 0},
                                             {7, 96, 16},
                                             {2, 1824, 0},
                                             {5, 2880, 40},
                                             {65, 32, 0},
                                             {63, 160, 8}}) {
      std::vector<float> amaxes;
      for (int64_t i = 0; i < rows * columns / 32; ++i) {
        amaxes.push_back(FromBits((random() % 0x7F80) << 16));
      }
      const std::vector<float> x = BlocksOf(amaxes, random, bf16);
      for (const Target& target : kTargets) {
        Compare(x, rows, target, {.maximum = target.maximum}, bf16, gap);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(MxQuantizeTest, NothingIsNoWork) {
  EXPECT_TRUE(kernels_->Launch({.rows = 0, .columns = 64}, {}, stream()).ok());
  EXPECT_TRUE(kernels_->Launch({.rows = 4, .columns = 0}, {}, stream()).ok());
  EXPECT_EQ(MxQuantize::Cost({.rows = 0, .columns = 64})->launches, 0);
}

TEST_P(MxQuantizeTest, RefusesWhatDoesNotFit) {
  const Buffer buffer = Out(4096);
  const MxQuantize::Operands good = {buffer.data(), buffer.data(), buffer.data()};
  const auto message = [&](const MxQuantize::Problem& problem, const MxQuantize::Operands& with) {
    const absl::Status status = kernels_->Launch(problem, with, stream());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message({.rows = 2, .columns = 48}, good), HasSubstr("x is [2, 48]"));
  EXPECT_THAT(message({.rows = -1, .columns = 32}, good), HasSubstr("x is [-1, 32]"));
  EXPECT_THAT(message({.rows = 2, .columns = 32, .row_stride = 36}, good),
              HasSubstr("36 elements apart"));
  EXPECT_THAT(message({.rows = 2, .columns = 64, .row_stride = 32}, good),
              HasSubstr("at least 64"));
  EXPECT_THAT(message({.quantizer = {.maximum = 449.0f}, .rows = 1, .columns = 32}, good),
              HasSubstr("maximum is 449"));
  EXPECT_THAT(message({.format = ElementFormat::kE4m3Fnuz, .rows = 1, .columns = 32}, good),
              HasSubstr("at most 240"));
  EXPECT_THAT(message({.format = ElementFormat::kE5m2, .rows = 1, .columns = 32}, good),
              HasSubstr("no kernel makes E5m2"));
  EXPECT_THAT(message({.quantizer = {.amax_floor = -1.0f}, .rows = 1, .columns = 32}, good),
              HasSubstr("amax_floor is -1"));
  EXPECT_THAT(message({.quantizer = {.smallest_code = 2}, .rows = 1, .columns = 32}, good),
              HasSubstr("smallest_code is 2"));
  EXPECT_THAT(message({.rows = int64_t{1} << 40, .columns = int64_t{1} << 40}, good),
              HasSubstr("more than"));
  MxQuantize::Operands wrong = good;
  wrong.x = static_cast<uint8_t*>(buffer.data()) + 8;
  EXPECT_THAT(message({.rows = 1, .columns = 32}, wrong), HasSubstr("quantize: x is at 0x"));
  wrong = good;
  wrong.codes = nullptr;
  EXPECT_THAT(message({.rows = 1, .columns = 32}, wrong), HasSubstr("codes is a null pointer"));
}

TEST_P(MxQuantizeTest, CostCountsEachByteOnce) {
  const LaunchCost cost = *MxQuantize::Cost(
      {.format = ElementFormat::kE2m1, .quantizer = {.maximum = 6.0f}, .rows = 3, .columns = 64});
  EXPECT_EQ(cost.activation_bytes, 3 * 64 * 2);
  EXPECT_EQ(cost.output_bytes, 3 * 32 + 3 * 2);
  EXPECT_EQ(cost.weight_bytes, 0);
  EXPECT_EQ(cost.launches, 1);
  // 2^28 blocks a launch.
  EXPECT_EQ(MxQuantize::Cost({.rows = (int64_t{1} << 28) + 1, .columns = 32})->launches, 2);
}

INSTANTIATE_TEST_SUITE_P(Chips, MxQuantizeTest, testing::ValuesIn(Chips()), LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip
