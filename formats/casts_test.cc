// Against torch 2.11's own casts (tests/golden/casts.safetensors): every bf16 value to each fp8
// format, every fp8 code to float32, and floats to bf16.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "formats/every_format.h"
#include "formats/formats.h"
#include "formats/registry.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lanewise {
namespace {

// A golden tensor's elements; nothing if the file lacks it or it has another size.
template <class T>
std::optional<std::vector<T>> GoldenTensor(const std::string& name, std::size_t count) {
  std::ifstream stream("tests/golden/casts.safetensors", std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  std::uint64_t header_size = 0;
  if (file.size() < sizeof(header_size)) return std::nullopt;
  std::memcpy(&header_size, file.data(), sizeof(header_size));
  const auto header = nlohmann::json::parse(file.substr(sizeof(header_size), header_size));
  if (!header.contains(name)) return std::nullopt;
  const std::vector<std::size_t> offsets = header[name]["data_offsets"];
  if (offsets[1] - offsets[0] != count * sizeof(T)) return std::nullopt;
  std::vector<T> elements(count);
  std::memcpy(elements.data(), file.data() + sizeof(header_size) + header_size + offsets[0],
              count * sizeof(T));
  return elements;
}

class CastsTest : public testing::TestWithParam<FormatView> {
 protected:
  void ExpectCasts(const std::string& tensor, Overflow overflow) const {
    const auto expected = GoldenTensor<std::uint8_t>(tensor, 0x10000);
    ASSERT_TRUE(expected.has_value()) << tensor;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto value = std::bit_cast<float>(bits << 16);
      const int got = GetParam().encode(value, overflow);
      const int want = (*expected)[bits];
      ASSERT_EQ(got, want) << Text("bf16 %#06x = %a: got %#x, expected %#x", bits, value, got,
                                   want);
    }
  }
};

TEST_P(CastsTest, EveryBf16) {
  ExpectCasts("bf16_to_" + std::string(GetParam().name), Overflow::kNonFinite);
}

TEST_P(CastsTest, EveryBf16Saturated) {
  ExpectCasts("bf16_to_" + std::string(GetParam().name) + "_saturated", Overflow::kSaturate);
}

TEST_P(CastsTest, EveryCodeToFloat) {
  const auto expected = GoldenTensor<float>(std::string(GetParam().name) + "_to_f32", 256);
  ASSERT_TRUE(expected.has_value());
  for (std::uint16_t code = 0; code < 256; ++code) {
    const float want = (*expected)[code];
    const float got = GetParam().decode(code);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << Text("code %#x is %a, expected NaN", code, got);
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want))
          << Text("code %#x is %a, expected %a", code, got, want);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CastsTest,
                         testing::Values(*FindFormat("e4m3fn"), *FindFormat("e4m3fnuz"),
                                         *FindFormat("e5m2"), *FindFormat("e5m2fnuz")),
                         FormatName);

TEST(Bf16CastsTest, FloatsToBf16) {
  const auto floats = GoldenTensor<float>("f32_to_bf16_in", 65536);
  const auto expected = GoldenTensor<std::uint16_t>("f32_to_bf16_out", 65536);
  ASSERT_TRUE(floats.has_value() && expected.has_value());
  for (std::size_t i = 0; i < floats->size(); ++i) {
    const int got = Bf16::FromFloat((*floats)[i]).bits();
    const int want = (*expected)[i];
    ASSERT_EQ(got, want) << Text("float %a: got %#x, expected %#x", (*floats)[i], got, want);
  }
}

}  // namespace
}  // namespace lanewise
