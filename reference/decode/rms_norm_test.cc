#include "reference/decode/rms_norm.h"

#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise::reference {
namespace {

std::vector<Bf16> Draw(std::size_t n, std::mt19937* random) {
  std::vector<Bf16> values;
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < n; ++i) {
    values.push_back(Bf16::FromFloat(std::ldexp(normal(*random), static_cast<int>(i % 9))));
  }
  return values;
}

using Values = std::function<float(std::size_t)>;

// Lanes added by xor 32, 16, .. 1: the last addition is of the even and the odd lanes.
float Interleaved(const Values& lane, std::size_t base, std::size_t stride, std::size_t count) {
  if (stride == count) return lane(base);
  return Interleaved(lane, base, 2 * stride, count) +
         Interleaved(lane, base + stride, 2 * stride, count);
}

// Lanes added by xor 1, 2, .. 32: the last addition is of the two halves.
float Halves(const Values& lane, std::size_t first, std::size_t count) {
  if (count == 1) return lane(first);
  return Halves(lane, first, count / 2) + Halves(lane, first + count / 2, count / 2);
}

float Rsq(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }

void ExpectRow(const std::vector<Bf16>& y, const Values& x, float rstd, const Values& weight) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float scaled = x(i) * rstd;
    ASSERT_EQ(y[i].bits(), Bf16::FromFloat(scaled * weight(i)).bits()) << i;
  }
}

Values Of(const std::vector<Bf16>& values) {
  return [&values](std::size_t i) { return values[i].ToFloat(); };
}

TEST(RmsNorm, Latent) {
  std::mt19937 random(11);
  for (const std::size_t each : {8, 2}) {
    const std::size_t n = each == 8 ? 1280 : 512;
    const std::vector<Bf16> x = Draw(n, &random), w = Draw(n, &random);
    std::vector<Bf16> y(n);
    ASSERT_TRUE(LatentNorm(x, static_cast<int>(each), w, y).ok());
    const auto thread = [&](std::size_t t) {
      if (each * t >= n) return 0.0f;
      float sum = x[each * t].ToFloat() * x[each * t].ToFloat();
      for (std::size_t j = 1; j < each; ++j) {
        sum += x[each * t + j].ToFloat() * x[each * t + j].ToFloat();
      }
      return sum;
    };
    const auto wave = [&](std::size_t first) {
      return Interleaved([&](std::size_t l) { return thread(first + l); }, 0, 1, 64);
    };
    const float sum = (wave(0) + wave(64)) + (wave(128) + wave(192));
    ExpectRow(y, Of(x), Rsq(sum / static_cast<float>(n) + 1e-20f), Of(w));
  }
}

TEST(RmsNorm, Layer) {
  std::mt19937 random(12);
  const std::size_t n = 5120;
  const std::vector<Bf16> x = Draw(n, &random), w = Draw(n, &random);
  std::vector<Bf16> y(n);
  ASSERT_TRUE(LayerNorm(x, w, 1e-20f, y).ok());
  const auto thread = [&](std::size_t t) {
    float sum = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t j = 0; j < 8; ++j) {
        const std::size_t column = 8 * t + 2048 * c + j;
        if (column < n) sum += x[column].ToFloat() * x[column].ToFloat();
      }
    }
    return sum;
  };
  const float sum = Halves(thread, 0, 256);
  ExpectRow(y, Of(x), Rsq(std::fma(sum, 1.0f / 5120.0f, 1e-20f)), Of(w));
}

TEST(RmsNorm, Gemma) {
  std::mt19937 random(13);
  const std::size_t n = 6144;
  const std::vector<Bf16> w = Draw(n, &random);
  std::vector<float> x(n);
  std::normal_distribution<float> normal;
  for (float& value : x) value = normal(random);
  std::vector<Bf16> y(n);
  ASSERT_TRUE(GemmaNorm(x, w, y).ok());
  const auto task = [&](std::size_t index) {
    return Interleaved(
        [&](std::size_t t) {
          const float* v = &x[48 * index + 3 * t];
          return (v[0] * v[0] + v[1] * v[1]) + v[2] * v[2];
        },
        0, 1, 16);
  };
  const float first = Interleaved(task, 0, 1, 64);
  const float second = Interleaved([&](std::size_t index) { return task(64 + index); }, 0, 1, 64);
  const float rstd = 1.0f / std::sqrt((first + second) / 6144.0f + 1e-6f);
  ExpectRow(
      y, [&](std::size_t i) { return x[i]; }, rstd,
      [&](std::size_t i) { return 1.0f + w[i].ToFloat(); });
}

TEST(RmsNorm, BadSizesAreRefused) {
  std::vector<Bf16> x(16), y(15);
  EXPECT_EQ(LatentNorm(x, 8, x, y).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LatentNorm(x, 0, x, x).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LayerNorm(y, y, 0, y).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GemmaNorm(std::vector<float>(16), x, x).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lanewise::reference
