#include "reference/gfx942/linear.h"

#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reference/block_codes.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference::gfx942 {
namespace {

using Shape2 = std::array<std::int64_t, 2>;
using Bytes = Tensor<std::uint8_t, 2>;
using Weights = Tensor<Bf16, 2>;

// Independent of formats/: e4m3fn from its definition, and bf16 as the upper half of a float.
double E4m3Value(int byte) {
  const int exponent = byte / 8 % 16, mantissa = byte % 8;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return byte >= 128 ? -magnitude : magnitude;
}

// bf16 nearest, ties to even, of a number of few enough bits that double holds it; bf16's
// subnormals included.
std::uint16_t Bf16Bits(double value) {
  const double magnitude = std::fabs(value);
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  const int exponent = std::max(std::ilogb(magnitude), -126);
  const double units = std::nearbyint(std::ldexp(magnitude, 7 - exponent));
  const double code = units + 128.0 * (exponent + 126);  // A carry moves into the exponent.
  return static_cast<std::uint16_t>(sign + std::min(static_cast<int>(code), 0x7F80));
}

// Every finite e4m3 byte in a block of 32 x 32, four times.
Bytes EveryByte() {
  Bytes bytes(32, 32);
  for (std::int64_t i = 0; i < 1024; ++i) {
    const int byte = static_cast<int>(i % 256);
    bytes.data()[i] = static_cast<std::uint8_t>(byte % 128 == 127 ? 0 : byte);
  }
  return bytes;
}

Weights DequantizedApart(const Bytes& bytes, int code) {
  Weights w(32, 32);
  for (std::int64_t i = 0; i < 1024; ++i) {
    w.data()[i] = Bf16::FromBits(Bf16Bits(std::ldexp(E4m3Value(bytes.data()[i]), code - 127)));
  }
  return w;
}

Bytes OneCode(int code) { return Bytes(1, 1).setConstant(static_cast<std::uint8_t>(code)); }

TEST(OcpFromDequant, GivesEveryByteBackUnderEveryCodeInRange) {
  const Bytes bytes = EveryByte();
  for (int code = 0; code < 256; ++code) {
    const Weights w = DequantizedApart(bytes, code);
    const auto back = OcpFromDequant(w, OneCode(code));
    // 448 * 2^(code - 127) is a bf16 up to code 246, and e4m3's last bit, 2^-9, from code 3 on.
    if (code > 246) {
      EXPECT_FALSE(back.ok()) << code;
      continue;
    }
    ASSERT_TRUE(back.ok()) << code << ": " << back.status();
    if (code >= 3) {
      ASSERT_TRUE(Same(bytes, *back)) << code;
    }
    const auto again = UndoOcpFromDequant(*back, OneCode(code));
    ASSERT_TRUE(again.ok());
    for (std::int64_t i = 0; i < 1024; ++i) {
      ASSERT_EQ(again->data()[i].bits(), w.data()[i].bits()) << "code " << code << ", " << i;
    }
  }
}

TEST(OcpFromDequant, AcceptsExactlyTheMultiplesOfTheScale) {
  // Every bf16 under a few codes, the whole range's ends among them: accepted if and only if some
  // byte's value rounds to it.
  for (const int code : {0, 1, 2, 100, 127, 140, 246, 247, 250, 254, 255}) {
    std::array<bool, 65536> is_dequantized = {};
    for (int byte = 0; byte < 256; ++byte) {
      if (byte % 128 == 127) continue;
      is_dequantized[Bf16Bits(std::ldexp(E4m3Value(byte), code - 127))] = true;
    }
    is_dequantized[0x7F80] = is_dequantized[0xFF80] = false;  // Inf is no value of a weight.
    for (int block = 0; block < 64; ++block) {
      Weights w(32, 32);
      std::int64_t bad = 0, first = -1;
      for (int i = 0; i < 1024; ++i) {
        const int bits = 1024 * block + i;
        w.data()[i] = Bf16::FromBits(static_cast<std::uint16_t>(bits));
        if (is_dequantized[static_cast<std::size_t>(bits)]) continue;
        ++bad;
        if (first < 0) first = i;
      }
      const auto bytes = OcpFromDequant(w, OneCode(code));
      ASSERT_EQ(bytes.ok(), bad == 0) << code << ", block " << block;
      if (bad == 0) continue;
      const std::string message(bytes.status().message());
      const std::string expected =
          absl::StrCat(bad, " of 1024 values are not e4m3 x scale; the first: w[", first / 32, ", ",
                       first % 32, "] is ");
      ASSERT_EQ(message.substr(0, expected.size()), expected) << code << ", block " << block;
    }
  }
}

TEST(OcpFromDequant, TakesEitherZeroAndRefusesNan) {
  Weights w(32, 32);
  w.setConstant(Bf16::FromBits(0));
  w(0, 1) = Bf16::FromBits(0x8000);
  auto bytes = OcpFromDequant(w, OneCode(127));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ((*bytes)(0, 0), 0);
  EXPECT_EQ((*bytes)(0, 1), 0x80);
  w(31, 30) = Bf16::FromBits(0x7FC0);
  bytes = OcpFromDequant(w, OneCode(127));
  EXPECT_TRUE(absl::StrContains(
      bytes.status().message(),
      "1 of 1024 values are not e4m3 x scale; the first: w[31, 30] is nan (bf16 0x7FC0)"))
      << bytes.status();
}

TEST(OcpFromDequant, RefusesShapesThatDoNotBelongTogether) {
  EXPECT_EQ(OcpFromDequant(Weights(33, 32), OneCode(1)).status().message(),
            "w [33, 32]: 33 is not a multiple of 32 (dimension 0)");
  EXPECT_EQ(OcpFromDequant(Weights(32, 64), OneCode(1)).status().message(),
            "scale [1, 1]: expected [1, 2] beside w [32, 64]");
  EXPECT_FALSE(UndoOcpFromDequant(Bytes(32, 33), OneCode(1)).ok());
}

class LinearCopyForms : public testing::Test {
 protected:
  LinearCopyForms() {
    codes_ = RandomBytes(Shape2{3, 5}, 101, 200);
    for (std::int64_t i = 0; i < codes_.size(); ++i) codes_.data()[i] += 20;
    for (std::int64_t i = 0; i < w8_.size(); ++i) {
      if (w8_.data()[i] % 128 == 127) w8_.data()[i] -= 1;
    }
  }
  Bytes w8_ = RandomBytes(Shape2{96, 160}, 100);
  Bytes codes_;
};

TEST_F(LinearCopyForms, AgreeWithTheDenseCopy) {
  const auto expected = DenseCopy(w8_, codes_, ChunkOrder::kNatural);
  const auto w = UndoOcpFromDequant(w8_, codes_);
  ASSERT_TRUE(expected.ok() && w.ok());
  for (const Bytes& scale : {codes_, ExpandBlockCodes(codes_)}) {
    const auto from_bytes = LinearCopy(w8_, scale);
    const auto from_bf16 = LinearCopy(*w, scale);
    ASSERT_TRUE(from_bytes.ok() && from_bf16.ok()) << from_bytes.status() << from_bf16.status();
    EXPECT_TRUE(Same(expected->bytes, from_bytes->bytes));
    EXPECT_TRUE(Same(expected->codes, from_bytes->codes));
    EXPECT_TRUE(Same(expected->bytes, from_bf16->bytes));
    EXPECT_TRUE(Same(expected->codes, from_bf16->codes));
    EXPECT_EQ(from_bf16->negative_zeros, expected->negative_zeros);
  }
}

TEST_F(LinearCopyForms, RefuseRowCodesThatDoNotFold) {
  Bytes rows = ExpandBlockCodes(codes_);
  rows(70, 4) ^= 1;
  EXPECT_TRUE(absl::StrContains(LinearCopy(w8_, rows).status().message(),
                                "row scales (96, 5) are not 32 x 32 blocks: the code at row 70, "
                                "column 4"))
      << LinearCopy(w8_, rows).status();
  // Other shapes are no row codes.
  EXPECT_TRUE(absl::StrContains(LinearCopy(w8_, Bytes(96, 4)).status().message(),
                                "scale [96, 4]: expected [3, 5]"));
}

TEST_F(LinearCopyForms, RefuseLargeCodesAndNanBytes) {
  Bytes codes = codes_;
  codes(1, 1) = 250;
  EXPECT_TRUE(absl::StrContains(LinearCopy(w8_, codes).status().message(), "scale[1, 1] is 250"));
  Bytes w8 = w8_;
  w8(95, 159) = 0x7F;
  EXPECT_TRUE(LinearCopy(w8, codes_).ok());
  EXPECT_TRUE(absl::StrContains(LinearCopy(w8, codes_, Checks::All()).status().message(),
                                "w8[95, 159] is 127 (0x7F)"));
}

}  // namespace
}  // namespace lanewise::reference::gfx942
