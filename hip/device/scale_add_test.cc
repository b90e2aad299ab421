// The device's scaled sums against the reference, over every sum of codes, on both chips.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "hip/device/scale_add_kernels.h"
#include "hip/runtime/module.h"
#include "reference/exact/rounding.h"

namespace lanewise::hip {
namespace {

float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }

// As reference/gemm/reduction.cc joins a block.
float Judge(float acc, float d, uint32_t w_code, uint32_t x_code, int offset) {
  if (w_code == 255 || x_code == 255) return std::numeric_limits<float>::quiet_NaN();
  return AddScaled(acc, d, static_cast<int>(w_code + x_code) - 254 + offset);
}

struct Sums {
  std::vector<float> acc;
  std::vector<float> d;
  std::vector<uint16_t> codes;  // w's in the lower byte, x's in the upper one

  void Add(float a, float value, uint32_t w_code, uint32_t x_code) {
    acc.push_back(a);
    d.push_back(value);
    codes.push_back(static_cast<uint16_t>(w_code | x_code << 8));
  }
};

// Block products that occur: zero, the smallest and the largest, few and many bits.
std::vector<float> Products(std::mt19937_64* random) {
  std::vector<float> products = {0.0f,          0x1p-20f, 0x1p-32f,   0x1.fffffep31f,
                                 1.0f,          0x1.8p0f, 1843200.0f, 0x1.000002p0f,
                                 0x1.fffffep0f, INFINITY, NAN};
  for (int i = 0; i < 12; ++i) {
    const int exponent = static_cast<int>((*random)() % 42) - 20;
    products.push_back(std::ldexp(FromBits(0x3F800000 | ((*random)() & 0x7FFFFF)), exponent));
  }
  const size_t positive = products.size();
  for (size_t i = 1; i < positive; ++i) products.push_back(-products[i]);
  return products;
}

// Accumulators of every kind, and some about -product so that the sum cancels or ties.
std::vector<float> Accumulators(float product, std::mt19937_64* random) {
  std::vector<float> all = {0.0f,      FromBits(1), -FromBits(1),    FromBits(0x7FFFFF), -0x1p-126f,
                            1.0f,      -1.0f,       0x1.fffffep127f, -0x1.fffffep127f,   INFINITY,
                            -INFINITY, NAN};
  for (int i = 0; i < 4; ++i) all.push_back(FromBits(static_cast<uint32_t>((*random)())));
  if (std::isfinite(product)) {
    const uint32_t bits = Bits(-product);
    for (const int ulps : {-1, 0, 1}) all.push_back(FromBits(bits + static_cast<uint32_t>(ulps)));
    // Below and above by about 2^24, where halves of an ulp decide.
    for (const int binades : {-25, -24, -23, 1, 23, 24, 25}) {
      all.push_back(static_cast<float>(std::ldexp(product, binades)));
    }
  }
  return all;
}

class ScaleAddTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    auto module = Module::Load(ScaleAddKernelsCodeObjects(), device());
    ASSERT_TRUE(module.ok()) << module.status();
    module_.emplace(*std::move(module));
  }

  LaunchShape Shape(size_t count) const {
    return {.grid = {static_cast<uint32_t>((count + 255) / 256)}, .block = {256}};
  }

  void Compare(const Sums& sums, const std::vector<float>& got, int offset) {
    for (size_t i = 0; i < got.size(); ++i) {
      const uint32_t w_code = sums.codes[i] & 255;
      const uint32_t x_code = sums.codes[i] >> 8;
      const float expected = Judge(sums.acc[i], sums.d[i], w_code, x_code, offset);
      ASSERT_TRUE(Bits(got[i]) == Bits(expected) || (std::isnan(got[i]) && std::isnan(expected)))
          << std::hexfloat << sums.acc[i] << " + " << sums.d[i] << " with codes " << std::dec
          << w_code << " and " << x_code << ", offset " << offset << std::hexfloat << " gave "
          << got[i] << ", expected " << expected;
    }
  }

  void AddByCodes(const Sums& sums, int offset) {
    const Kernel kernel = *module_->Find("AddByCodes");
    const Buffer acc = In(sums.acc), d = In(sums.d), codes = In(sums.codes);
    const Buffer out = Out(static_cast<int64_t>(4 * sums.acc.size()));
    const absl::Status status = kernel.Launch(Shape(sums.acc.size()), stream(), acc, d, codes, out,
                                              offset, static_cast<uint32_t>(sums.acc.size()));
    ASSERT_TRUE(status.ok()) << status;
    Compare(sums, Read<float>(out), offset);
  }

  std::optional<Module> module_;
};

INSTANTIATE_TEST_SUITE_P(Chips, ScaleAddTest, testing::ValuesIn(Chips()), LauncherTest::Name);

TEST_P(ScaleAddTest, EverySumOfCodes) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (const int offset : {0, 7}) {
    Sums sums;
    for (uint32_t sum = 0; sum <= 508; ++sum) {
      // The sum as each of its pairs at the ends, and one between.
      const uint32_t lowest = sum > 254 ? sum - 254 : 0;
      const uint32_t highest = sum < 254 ? sum : 254;
      const uint32_t between = lowest + static_cast<uint32_t>(random() % (highest - lowest + 1));
      for (const uint32_t w_code : {lowest, between}) {
        for (const float d : Products(&random)) {
          const double product =
              std::ldexp(static_cast<double>(d), static_cast<int>(sum) - 254 + offset);
          for (const float acc : Accumulators(static_cast<float>(product), &random)) {
            sums.Add(acc, d, w_code, sum - w_code);
          }
        }
      }
    }
    AddByCodes(sums, offset);
  }
}

TEST_P(ScaleAddTest, EveryPairOfCodes) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const std::vector<float> products = Products(&random);
  Sums sums;
  for (uint32_t w_code = 0; w_code < 256; ++w_code) {
    for (uint32_t x_code = 0; x_code < 256; ++x_code) {
      const float d = products[random() % products.size()];
      const std::vector<float> all = Accumulators(d, &random);
      sums.Add(all[random() % all.size()], d, w_code, x_code);
    }
  }
  AddByCodes(sums, 0);

  // Waves of 64 neighbouring x codes: some all ordinary, some mixed, some not at all.
  const Kernel kernel = *module_->Find("AddAsKernelsDo");
  const Buffer acc = In(sums.acc), d = In(sums.d), codes = In(sums.codes);
  const Buffer out = Out(static_cast<int64_t>(4 * sums.acc.size()));
  const Buffer taken = Out(static_cast<int64_t>(sums.acc.size()));
  const absl::Status status = kernel.Launch(Shape(sums.acc.size()), stream(), acc, d, codes, out,
                                            taken, static_cast<uint32_t>(sums.acc.size()));
  ASSERT_TRUE(status.ok()) << status;
  Compare(sums, Read<float>(out), 0);
  const std::vector<uint8_t> fast = Read(taken);
  for (size_t i = 0; i < fast.size(); ++i) {
    const uint32_t w_code = sums.codes[i] & 255;
    const uint32_t first_x = (sums.codes[i] >> 8) / 64 * 64;  // of the wave
    const bool expected = w_code >= 64 && w_code <= 190 && first_x >= 64 && first_x + 63 <= 191;
    ASSERT_EQ(fast[i], expected) << "codes " << w_code << " and " << (sums.codes[i] >> 8);
  }
}

TEST_P(ScaleAddTest, OrdinaryIsSaidOfFourPairs) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  // Each byte in each place by each value, its neighbours ordinary or at the edges.
  std::vector<uint32_t> w_codes, x_codes;
  const uint8_t edges[] = {0, 63, 64, 127, 128, 190, 191, 192, 254, 255};
  for (int place = 0; place < 4; ++place) {
    for (uint32_t value = 0; value < 256; ++value) {
      for (int draw = 0; draw < 40; ++draw) {
        uint32_t w = 0, x = 0;
        for (int byte = 0; byte < 4; ++byte) {
          const bool plain = draw % 2 == 0;
          const uint32_t w_byte = plain ? 64 + random() % 127 : edges[random() % 10];
          const uint32_t x_byte = plain ? 64 + random() % 128 : edges[random() % 10];
          w |= (byte == place && draw % 4 < 2 ? value : w_byte) << (8 * byte);
          x |= (byte == place && draw % 4 >= 2 ? value : x_byte) << (8 * byte);
        }
        w_codes.push_back(w);
        x_codes.push_back(x);
      }
    }
  }
  const Buffer w = In(w_codes), x = In(x_codes);
  const Buffer out = Out(static_cast<int64_t>(w_codes.size()));
  const absl::Status status = module_->Find("Ordinary")
                                  ->Launch(Shape(w_codes.size()), stream(), w, x, out,
                                           static_cast<uint32_t>(w_codes.size()));
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<uint8_t> ordinary = Read(out);
  for (size_t i = 0; i < ordinary.size(); ++i) {
    bool expected = true;
    for (int byte = 0; byte < 4; ++byte) {
      const uint32_t w_byte = w_codes[i] >> (8 * byte) & 255;
      const uint32_t x_byte = x_codes[i] >> (8 * byte) & 255;
      expected = expected && w_byte >= 64 && w_byte <= 190 && x_byte >= 64 && x_byte <= 191;
    }
    ASSERT_EQ(ordinary[i], expected) << std::hex << w_codes[i] << " and " << x_codes[i];
  }
}

}  // namespace
}  // namespace lanewise::hip
