#include "reference/matrix_core/cdna4.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "reference/matrix_core/draws.h"
#include "reference/matrix_core/rational_twin.h"

namespace lanewise {
namespace {

using cdna4::BlockScales;
using cdna4::kScaleBlock;

bool IsF8f6f4(const MatrixInstruction& instruction) {
  return instruction.a == OperandFormat::kF8f6f4;
}

int Draws(int outputs) {
  return (std::getenv("LANEWISE_NIGHTLY") != nullptr ? 1'000'000 : 8'000) / outputs + 1;
}

std::string TestName(const testing::TestParamInfo<MatrixInstruction>& info) {
  return std::string(info.param.name);
}

std::uint32_t Bits(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }

// What one test draws and compares: an instruction, with the formats and scales of the f8f6f4 ones.
struct Execution {
  MatrixInstruction instruction;
  OperandFormat a_format;
  OperandFormat b_format;
  MatrixOperands operands;
  bool scaled = false;
  std::vector<std::uint8_t> a_scales;  // [m][k/32]
  std::vector<std::uint8_t> b_scales;  // [k/32][n]

  std::vector<std::uint32_t> Execute() const {
    std::vector<std::uint32_t> d(operands.c.size(), 0xDEADBEEF);
    const std::vector<std::uint8_t> a = Pack(a_format, operands.a);
    const std::vector<std::uint8_t> b = Pack(b_format, operands.b);
    if (IsF8f6f4(instruction)) {
      BlockScales scales;
      if (scaled) scales = {a_scales.data(), b_scales.data()};
      cdna4::ExecuteF8f6f4(instruction, a_format, b_format, a.data(), b.data(), scales,
                           operands.c.data(), d.data());
    } else {
      cdna4::Execute(instruction, a.data(), b.data(), operands.c.data(), d.data());
    }
    return d;
  }

  // Element [block][row][column] of D by the contract.
  std::uint32_t Twin(int block, int row, int column) const {
    const int k_count = instruction.k;
    const int n = instruction.n;
    const int step = IsF8f6f4(instruction) ? kScaleBlock : k_count;
    const bool floats = a_format == OperandFormat::kF32;
    std::uint32_t d = operands.c[(block * instruction.m + row) * n + column];
    for (int begin = 0; begin < k_count; begin += step) {
      std::vector<TwinElement> a;
      std::vector<TwinElement> b;
      std::vector<float> a_floats;
      std::vector<float> b_floats;
      for (int k = begin; k < begin + step; ++k) {
        const std::uint32_t a_code = operands.a[(block * instruction.m + row) * k_count + k];
        const std::uint32_t b_code = operands.b[(block * k_count + k) * n + column];
        if (floats) {
          a_floats.push_back(std::bit_cast<float>(a_code));
          b_floats.push_back(std::bit_cast<float>(b_code));
        } else {
          a.push_back(TwinDecode(a_format, a_code));
          b.push_back(TwinDecode(b_format, b_code));
        }
      }
      if (floats) {
        d = FloatTwin(a_floats, b_floats, d);
        continue;
      }
      int exponent = 0;
      if (scaled) {
        const int a_scale = a_scales[row * (k_count / kScaleBlock) + begin / kScaleBlock];
        const int b_scale = b_scales[begin / kScaleBlock * n + column];
        if (a_scale == 255 || b_scale == 255) return kCanonicalNan;
        exponent = a_scale + b_scale - 254;
      }
      d = Cdna4Twin(a, b, exponent, d);
    }
    return d;
  }

  void ExpectTwin(const std::string& where) const {
    const std::vector<std::uint32_t> d = Execute();
    for (std::size_t i = 0; i < d.size(); ++i) {
      const int at = static_cast<int>(i);
      const int column = at % instruction.n;
      const int row = at / instruction.n % instruction.m;
      const int block = at / (instruction.n * instruction.m);
      const std::uint32_t expected = Twin(block, row, column);
      ASSERT_EQ(d[i], expected) << absl::StrFormat(
          "%s, %s (%s): D[block %d][%d][%d] is %08X, the twin's is %08X, of C = %08X",
          std::string(instruction.name), where, operands.what, block, row, column, d[i], expected,
          operands.c[i]);
    }
  }
};

class Cdna4Instruction : public testing::TestWithParam<MatrixInstruction> {};

TEST_P(Cdna4Instruction, EqualsTheRationalTwin) {
  const MatrixInstruction instruction = GetParam();
  const int draws = Draws(instruction.blocks * instruction.m * instruction.n);
  for (int seed = 0; seed < draws; ++seed) {
    Execution run = {instruction, instruction.a, instruction.b, {}, false, {}, {}};
    // The f8f6f4 instructions go through all 25 pairs of formats.
    if (IsF8f6f4(instruction)) {
      run.a_format = cdna4::F8f6f4Format(seed % 5).value();
      run.b_format = cdna4::F8f6f4Format(seed / 5 % 5).value();
      run.scaled = instruction.name.find("scale") != std::string_view::npos;
    }
    OperandDraws source(instruction, run.a_format, run.b_format, seed);
    run.operands = source.DrawAAndB();
    int scale_exponent = 0;
    if (run.scaled) {
      // Half of the time from all codes, else so that the blocks meet each other and C.
      const int centre = 40 + source.Below(170);
      const bool any = source.Below(2) == 0;
      const auto draw = [&] {
        return static_cast<std::uint8_t>(any ? source.Below(256) : centre + source.Below(24) - 12);
      };
      const int blocks = instruction.k / kScaleBlock;
      for (int i = 0; i < instruction.m * blocks; ++i) run.a_scales.push_back(draw());
      for (int i = 0; i < instruction.n * blocks; ++i) run.b_scales.push_back(draw());
      scale_exponent = 2 * centre - 254;
    }
    source.DrawC(run.operands, run.Execute(), scale_exponent);
    run.ExpectTwin(absl::StrFormat("seed %d, formats %d and %d", seed,
                                   static_cast<int>(run.a_format), static_cast<int>(run.b_format)));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Cdna4Instruction, testing::ValuesIn(cdna4::kInstructions), TestName);

TEST(Cdna4, NamesTheFormatsOfModifiers) {
  EXPECT_EQ(cdna4::F8f6f4Format(0), OperandFormat::kE4m3Fn);
  EXPECT_EQ(cdna4::F8f6f4Format(1), OperandFormat::kE5m2);
  EXPECT_EQ(cdna4::F8f6f4Format(2), OperandFormat::kE2m3);
  EXPECT_EQ(cdna4::F8f6f4Format(3), OperandFormat::kE3m2);
  EXPECT_EQ(cdna4::F8f6f4Format(4), OperandFormat::kE2m1);
  EXPECT_EQ(cdna4::F8f6f4Format(5), std::nullopt);
  EXPECT_EQ(cdna4::F8f6f4Format(-1), std::nullopt);
}

// A is all ones (e2m1) but scaled by row, B all ones but scaled by column: each 32-block is worth
// 32 times its scales, in its own place.
TEST(Cdna4ByHand, EachBlockHasTheScalesOfItsRowAndColumn) {
  const MatrixInstruction& instruction =
      *cdna4::FindInstruction("v_mfma_scale_f32_16x16x128_f8f6f4");
  const std::vector<std::uint8_t> ones(16 * 128, 0x2);  // e2m1: 1
  std::vector<std::uint8_t> a_scales(16 * 4);
  std::vector<std::uint8_t> b_scales(4 * 16);
  for (int block = 0; block < 4; ++block) {
    for (int i = 0; i < 16; ++i) {
      a_scales[i * 4 + block] = static_cast<std::uint8_t>(127 + (i + block) % 3);
      b_scales[block * 16 + i] = static_cast<std::uint8_t>(127 - i * block % 5);
    }
  }
  const std::vector<std::uint32_t> c(16 * 16, Bits(0.5));
  std::vector<std::uint32_t> d(16 * 16, 0xDEADBEEF);
  cdna4::ExecuteF8f6f4(instruction, OperandFormat::kE2m1, OperandFormat::kE2m1, ones.data(),
                       ones.data(), {a_scales.data(), b_scales.data()}, c.data(), d.data());
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      double expected = 0.5;
      for (int block = 0; block < 4; ++block) {
        expected += 32.0 * (1 << (row + block) % 3) / (1 << column * block % 5);
      }
      EXPECT_EQ(d[row * 16 + column], Bits(expected)) << row << ", " << column;
    }
  }
}

// 2^24 + 1 + 1: rounded once for each block the ones are lost, in one block they are not.
TEST(Cdna4ByHand, OneRoundingABlock) {
  const MatrixInstruction& instruction = *cdna4::FindInstruction("v_mfma_f32_16x16x128_f8f6f4");
  for (const bool same_block : {false, true}) {
    std::vector<std::uint8_t> a(16 * 128);
    std::vector<std::uint8_t> b(128 * 16);
    a[0] = 0x38;  // e4m3: 1
    a[same_block ? 1 : 32] = 0x38;
    for (std::uint8_t& code : b) code = 0x38;
    const std::vector<std::uint32_t> c(16 * 16, Bits(0x1p24));
    std::vector<std::uint32_t> d(16 * 16, 0xDEADBEEF);
    cdna4::ExecuteF8f6f4(instruction, OperandFormat::kE4m3Fn, OperandFormat::kE4m3Fn, a.data(),
                         b.data(), {}, c.data(), d.data());
    EXPECT_EQ(d[0], Bits(same_block ? 0x1p24 + 2 : 0x1p24));
  }
}

// The whole sum of a bf16 instruction is exact, far beyond double: 2^120 - 2^120 + 2^-120.
TEST(Cdna4ByHand, SumsOfBf16AreExact) {
  const float a[] = {0x1p60f, 0x1p-60f, -0x1p60f};
  const float b[] = {0x1p60f, 0x1p-60f, 0x1p60f};
  EXPECT_EQ(cdna4::AddDot(OperandFormat::kBf16, OperandFormat::kBf16, a, b, 3, 0, 0), 0x1p-120f);
  // A product beyond float32 is no Inf: 2^180 - 2^180 + 1.
  const float large[] = {0x1p90f, -0x1p90f, 1};
  const float ones[] = {0x1p90f, 0x1p90f, 1};
  EXPECT_EQ(cdna4::AddDot(OperandFormat::kBf16, OperandFormat::kBf16, large, ones, 3, 0, 0), 1.0f);
  EXPECT_EQ(cdna4::AddDot(OperandFormat::kBf16, OperandFormat::kBf16, ones, ones, 3, -200, 1),
            1 + 0x1p-19f);
}

// 31 products of (2 - 2^-7)^2, which c takes away again, and a smaller one, which is the result:
// from sums that double holds to sums that it does not.
TEST(Cdna4ByHand, NoBitOfASumIsLost) {
  constexpr int kK = 32;
  for (int exponent = 0; exponent < 60; ++exponent) {
    std::vector<float> a(kK, 0x1.FEp0f);
    std::vector<float> b(kK, 0x1.FEp0f);
    a[kK - 1] = std::ldexp(0x1.02p0f, -exponent);
    b[kK - 1] = 0x1.02p0f;
    const float c = -31 * (0x1.FEp0f * 0x1.FEp0f);  // 21 bits: exact
    EXPECT_EQ(
        cdna4::AddDot(OperandFormat::kBf16, OperandFormat::kBf16, a.data(), b.data(), kK, 0, c),
        a[kK - 1] * b[kK - 1])
        << exponent;
  }
}

}  // namespace
}  // namespace lanewise
