#include "reference/matrix_core/cdna3.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "formats/formats.h"
#include "gtest/gtest.h"
#include "reference/matrix_core/decoded.h"
#include "reference/matrix_core/draws.h"
#include "reference/matrix_core/rational_twin.h"

namespace lanewise {
namespace {

std::string TestName(const testing::TestParamInfo<MatrixInstruction>& info) {
  return std::string(info.param.name);
}

std::uint32_t Bits(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }

std::vector<std::uint32_t> Execute(const MatrixInstruction& instruction,
                                   const MatrixOperands& operands) {
  std::vector<std::uint32_t> d(operands.c.size(), 0xDEADBEEF);
  cdna3::Execute(instruction, Pack(instruction.a, operands.a).data(),
                 Pack(instruction.b, operands.b).data(), operands.c.data(), d.data());
  return d;
}

// The twin's element [block][row][column] of D.
std::uint32_t TwinElementOfD(const MatrixInstruction& instruction, const MatrixOperands& operands,
                             int block, int row, int column) {
  const auto [name, m, n, k_count, a_format, b_format, blocks] = instruction;
  const std::uint32_t c = operands.c[(block * m + row) * n + column];
  std::vector<TwinElement> a;
  std::vector<TwinElement> b;
  std::vector<float> a_floats;
  std::vector<float> b_floats;
  for (int k = 0; k < k_count; ++k) {
    const std::uint32_t a_code = operands.a[(block * m + row) * k_count + k];
    const std::uint32_t b_code = operands.b[(block * k_count + k) * n + column];
    if (a_format == OperandFormat::kF32) {
      a_floats.push_back(std::bit_cast<float>(a_code));
      b_floats.push_back(std::bit_cast<float>(b_code));
    } else {
      a.push_back(TwinDecode(a_format, a_code));
      b.push_back(TwinDecode(b_format, b_code));
    }
  }
  return a_format == OperandFormat::kF32 ? FloatTwin(a_floats, b_floats, c)
                                         : Cdna3Twin(a_format, a, b, c);
}

class Cdna3Instruction : public testing::TestWithParam<MatrixInstruction> {};

TEST_P(Cdna3Instruction, EqualsTheRationalTwin) {
  const MatrixInstruction instruction = GetParam();
  const int outputs = instruction.blocks * instruction.m * instruction.n;
  const int draws = (std::getenv("LANEWISE_NIGHTLY") != nullptr ? 1'000'000 : 20'000) / outputs + 1;
  for (int seed = 0; seed < draws; ++seed) {
    OperandDraws source(instruction, instruction.a, instruction.b, seed);
    MatrixOperands operands = source.DrawAAndB();
    source.DrawC(operands, Execute(instruction, operands));
    const std::vector<std::uint32_t> d = Execute(instruction, operands);
    for (int i = 0; i < outputs; ++i) {
      const int column = i % instruction.n;
      const int row = i / instruction.n % instruction.m;
      const int block = i / (instruction.n * instruction.m);
      const std::uint32_t expected = TwinElementOfD(instruction, operands, block, row, column);
      ASSERT_EQ(d[i], expected) << absl::StrFormat(
          "%s, seed %d (%s): D[block %d][%d][%d] is %08X, the twin's is %08X, of C = %08X",
          std::string(instruction.name), seed, operands.what, block, row, column, d[i], expected,
          operands.c[i]);
    }
  }
}

// A chain of instructions, the same through Accumulate() over all of its k, and element by element.
TEST_P(Cdna3Instruction, ChainsAsItsEntryPointsSay) {
  const MatrixInstruction instruction = GetParam();
  constexpr int kLinks = 3;
  MatrixInstruction single = instruction;
  single.blocks = 1;
  MatrixInstruction chain = single;
  chain.k *= kLinks;
  OperandDraws source(chain, chain.a, chain.b, 17);
  MatrixOperands operands = source.DrawAAndB();
  source.DrawC(operands, std::vector<std::uint32_t>(operands.c.size()));

  std::vector<std::uint32_t> expected = operands.c;
  for (int link = 0; link < kLinks; ++link) {
    MatrixOperands part;
    part.c = expected;
    for (int row = 0; row < single.m; ++row) {
      for (int k = 0; k < single.k; ++k) {
        part.a.push_back(operands.a[row * chain.k + link * single.k + k]);
      }
    }
    const auto first = operands.b.begin() + std::int64_t{link} * single.k * single.n;
    part.b.assign(first, first + std::int64_t{single.k} * single.n);
    expected = Execute(single, part);
  }

  const std::vector<std::uint8_t> a = Pack(chain.a, operands.a);
  const std::vector<std::uint8_t> b = Pack(chain.b, operands.b);
  const DecodedRows rows({chain.a, a.data(), chain.m, chain.k, chain.k, 1});
  const DecodedColumns columns({chain.b, b.data(), chain.n, chain.k, 1, chain.n});
  for (int row = 0; row < chain.m; ++row) {
    for (int panel = 0; panel < columns.panels(); ++panel) {
      std::uint32_t accumulators[DecodedColumns::kPanelWidth] = {};
      const int first = panel * DecodedColumns::kPanelWidth;
      const int width = std::min(DecodedColumns::kPanelWidth, chain.n - first);
      for (int j = 0; j < width; ++j) accumulators[j] = operands.c[row * chain.n + first + j];
      cdna3::Accumulate(rows, row, columns, panel, 0, chain.k, accumulators);
      for (int j = 0; j < width; ++j) {
        ASSERT_EQ(accumulators[j], expected[row * chain.n + first + j])
            << operands.what << ", row " << row << ", column " << first + j;
      }
    }
    for (int column = 0; column < chain.n; ++column) {
      std::vector<std::uint32_t> a_row;
      std::vector<std::uint32_t> b_column;
      for (int k = 0; k < chain.k; ++k) {
        a_row.push_back(operands.a[row * chain.k + k]);
        b_column.push_back(operands.b[k * chain.n + column]);
      }
      ASSERT_EQ(cdna3::DotAccumulate(chain.a, chain.b, Pack(chain.a, a_row).data(),
                                     Pack(chain.b, b_column).data(), chain.k,
                                     operands.c[row * chain.n + column]),
                expected[row * chain.n + column])
          << operands.what << ", row " << row << ", column " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Cdna3Instruction, testing::ValuesIn(cdna3::kInstructions), TestName);

TEST(Cdna3, FindsInstructionsByName) {
  const MatrixInstruction* found = cdna3::FindInstruction("v_mfma_f32_32x32x16_bf8_fp8");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->m, 32);
  EXPECT_EQ(found->k, 16);
  EXPECT_EQ(found->a, OperandFormat::kE5m2Fnuz);
  EXPECT_EQ(found->b, OperandFormat::kE4m3Fnuz);
  EXPECT_EQ(cdna3::FindInstruction("v_mfma_f32_16x16x128_f8f6f4"), nullptr);
}

// The dot product of `values` and ones.
template <class Format>
std::uint32_t SumOf(OperandFormat format, const std::vector<float>& values, double c) {
  std::vector<std::uint32_t> a;
  for (const float value : values) a.push_back(Format::FromFloat(value).bits());
  const std::vector<std::uint32_t> ones(a.size(), Format::FromFloat(1.0f).bits());
  return cdna3::DotAccumulate(format, format, Pack(format, a).data(), Pack(format, ones).data(),
                              static_cast<std::int64_t>(a.size()), Bits(c));
}

std::uint32_t SumOfBf16(const std::vector<float>& values, double c) {
  return SumOf<Bf16>(OperandFormat::kBf16, values, c);
}

std::uint32_t SumOfF16(const std::vector<float>& values, double c) {
  return SumOf<F16>(OperandFormat::kF16, values, c);
}

std::uint32_t SumOfBf8(const std::vector<float>& values, double c) {
  return SumOf<E5m2Fnuz>(OperandFormat::kE5m2Fnuz, values, c);
}

constexpr float kInf = std::numeric_limits<float>::infinity();

// By hand, from the formulas. -1.5 2^-25 beside 1 is truncated to 0 (TZ at 2^-24); rounding the
// exact sum would give 1 - 2^-24.
TEST(Cdna3ByHand, ProductsAreTruncatedTowardZero) {
  EXPECT_EQ(SumOfBf16({1, -0x1.8p-25f}, 0), Bits(1));
  EXPECT_EQ(SumOfBf16({-1, 0x1.8p-25f}, 0), Bits(-1));
  EXPECT_EQ(SumOfBf16({1, -0x1.8p-24f}, 0), Bits(1 - 0x1p-24));
}

// c = -2^-60 beside 1 is taken to -2^-24 in a step of bf16 or f16, and dropped in one of fp8.
TEST(Cdna3ByHand, SmallCIsFlooredOrDropped) {
  EXPECT_EQ(SumOfBf16({1}, -0x1p-60), Bits(1 - 0x1p-24));
  EXPECT_EQ(SumOfF16({1}, -0x1p-60), Bits(1 - 0x1p-24));
  EXPECT_EQ(SumOfBf16({1}, 0x1p-60), Bits(1));
  EXPECT_EQ(SumOfBf8({1}, -0x1p-60), Bits(1));
  // E - 25 is not below E - 25.
  EXPECT_EQ(SumOfBf8({1}, -0x1p-25), Bits(1 - 0x1p-24));
}

// fp8: the product -2^-15 beside 2^10 is truncated to 0 in one group; of the other parity it is
// exact in its own group and then floored to -2^(10 - 24).
TEST(Cdna3ByHand, EvenAndOddProductsOfFp8AreSummedApart) {
  EXPECT_EQ(SumOfBf8({1024, 0, -0x1p-15f}, 0), Bits(1024));
  EXPECT_EQ(SumOfBf8({1024, -0x1p-15f}, 0), Bits(1024 - 0x1p-14));
}

// bf16: the products are 2^-40 below a c of 1, so FL(t, E - 32) takes them to -2^-32; then the sum
// 1 - 2^-32 needs 32 bits and rounds to 1.
TEST(Cdna3ByHand, SmallProductsBesideLargeC) {
  EXPECT_EQ(SumOfBf16({-0x1p-40f}, 1), Bits(1));
  // To minus infinity: -2^-25 - 2^-40 goes to -2^-25 - 2^-32, below the tie at 1 - 2^-25.
  EXPECT_EQ(SumOfBf16({-0x1p-25f, -0x1p-40f}, 1), Bits(1 - 0x1p-24));
  // -2^-25 alone is the tie, and 1 is even.
  EXPECT_EQ(SumOfBf16({-0x1p-25f}, 1), Bits(1));
}

// In float32's subnormals bits below 2^-157 are dropped: 2^-150 + 2^-158 becomes the tie between 0
// and 2^-149, 2^-150 + 2^-157 does not.
TEST(Cdna3ByHand, SmallestSums) {
  const std::vector<std::uint32_t> tie = {Bf16::FromFloat(0x1p-75f).bits(),
                                          Bf16::FromFloat(0x1p-79f).bits()};
  const std::vector<std::uint32_t> above_tie = {Bf16::FromFloat(0x1p-75f).bits(),
                                                Bf16::FromFloat(0x1p-78f).bits()};
  const std::vector<std::uint8_t> a = Pack(OperandFormat::kBf16, tie);
  const std::vector<std::uint8_t> b = Pack(OperandFormat::kBf16, above_tie);
  EXPECT_EQ(
      cdna3::DotAccumulate(OperandFormat::kBf16, OperandFormat::kBf16, a.data(), a.data(), 2, 0),
      0u);
  EXPECT_EQ(
      cdna3::DotAccumulate(OperandFormat::kBf16, OperandFormat::kBf16, a.data(), b.data(), 2, 0),
      Bits(0x1p-149));
}

// Order of steps: 8 products of bf16 are one step, the ninth comes after a rounding.
TEST(Cdna3ByHand, StepsAreInAscendingK) {
  std::vector<float> values(16, 0);
  values[0] = 0x1p24f;
  values[7] = 1;
  values[8] = -0x1p24f;
  // 2^24 + 1 is a tie and rounds to 2^24.
  EXPECT_EQ(SumOfBf16(values, 0), Bits(0));
  std::swap(values[7], values[9]);
  EXPECT_EQ(SumOfBf16(values, 0), Bits(1));
}

TEST(Cdna3ByHand, NonFiniteAndOverflow) {
  EXPECT_EQ(SumOfBf16({kInf, 1}, 0), Bits(kInf));
  EXPECT_EQ(SumOfBf16({kInf, -kInf}, 0), kCanonicalNan);
  EXPECT_EQ(SumOfBf16({-kInf}, kInf), kCanonicalNan);
  EXPECT_EQ(SumOfBf16({1}, -kInf), Bits(-kInf));
  EXPECT_EQ(SumOfF16({1, std::nanf("")}, 1), kCanonicalNan);
  // The only NaN of FNUZ.
  const std::uint8_t fnuz_nan = 0x80;
  EXPECT_EQ(cdna3::DotAccumulate(OperandFormat::kE4m3Fnuz, OperandFormat::kE4m3Fnuz, &fnuz_nan,
                                 &fnuz_nan, 1, 0),
            kCanonicalNan);
  // Inf * 0.
  const std::uint16_t inf_and_zero[] = {0x7F80, 0};
  const std::uint16_t zero_and_one[] = {0, 0x3F80};
  EXPECT_EQ(cdna3::DotAccumulate(OperandFormat::kBf16, OperandFormat::kBf16, inf_and_zero,
                                 zero_and_one, 2, 0),
            kCanonicalNan);
  // A bf16 product of 2^128 is Inf, whatever is added; one just below is not.
  const std::uint16_t two_to_64[] = {0x5F80, 0x5F80};
  const std::uint16_t cancels[] = {0x5F80, 0xDF80};
  EXPECT_EQ(
      cdna3::DotAccumulate(OperandFormat::kBf16, OperandFormat::kBf16, two_to_64, cancels, 1, 0),
      Bits(kInf));
  EXPECT_EQ(
      cdna3::DotAccumulate(OperandFormat::kBf16, OperandFormat::kBf16, two_to_64, cancels, 2, 0),
      kCanonicalNan);
  // (The 2 is truncated: it lies more than 24 below.)
  EXPECT_EQ(SumOfBf16({0x1.FEp127f, -0x1.FEp127f, 2}, 0), 0u);
}

TEST(Cdna3ByHand, ZeroSumsArePositive) {
  EXPECT_EQ(SumOfBf16({-0.0f, -0.0f}, -0.0), 0u);
  EXPECT_EQ(SumOfBf16({1, -1}, -0.0), 0u);
  const std::uint32_t minus_zero = 0x80000000;
  const std::uint32_t one = Bits(1);
  EXPECT_EQ(cdna3::DotAccumulate(OperandFormat::kF32, OperandFormat::kF32, &minus_zero, &one, 1,
                                 minus_zero),
            0u);
}

}  // namespace
}  // namespace lanewise
