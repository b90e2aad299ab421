// Matrix instructions: where each operand's elements sit, the arithmetic (against the reference on
// random bits), and the modifiers of the dense ones.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/isa/matrix/matrix_fixture.h"
#include "emulator/testing/instruction_fixture.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::emulator {
namespace {

TEST_P(MatrixTest, Layouts) {
  for (const Shape& shape : Shapes(IsGfx950())) {
    Fill(shape);
    FillC(shape, kC);
    wave_->set_exec(0x123456789u);  // EXEC plays no part
    Run(Text(shape));
    const auto product = [&](int block, int i, int j) {
      return Product(shape, block, block, i, j);
    };
    ExpectD(shape, kD, product, [](int i, int j) { return 100 * i + j; });
    if (HasFailure()) return;
    // Accumulation registers, a constant for C, and D on top of C.
    FillC(shape, kFirstAccumulator + kC);
    Run(Text(shape, "", "a"));
    ExpectD(shape, kFirstAccumulator + kD, product, [](int i, int j) { return 100 * i + j; });
    const std::string d = Registers("v", kC, CWords(shape));
    const std::string sources =
        ", " + Registers("v", kA, Words(shape)) + ", " + Registers("v", kB, Words(shape)) + ", ";
    Run(shape.name + " " + d + sources + d);
    ExpectD(shape, kC, product, [](int i, int j) { return 100 * i + j; });
    Run(shape.name + " " + d + sources + (shape.integer ? "3" : "2.0"));
    ExpectD(shape, kC, product, [&](int, int) { return shape.integer ? 3.0 : 2.0; });
    if (HasFailure()) return;
  }
}

TEST_P(MatrixTest, RandomBitsMatchTheReference) {
  Draw draw(18);
  for (const Shape& shape : Shapes(IsGfx950())) {
    const MatrixInstruction* instruction =
        IsGfx950() ? cdna4::FindInstruction(shape.name) : cdna3::FindInstruction(shape.name);
    if (instruction == nullptr) continue;
    const int bytes = shape.bits / 8;
    const int elements = shape.blocks * shape.m * shape.k;
    for (int repeat = 0; repeat < 4; ++repeat) {
      std::vector<uint8_t> a(static_cast<size_t>(elements) * bytes), b(a.size());
      std::vector<uint32_t> c(static_cast<size_t>(shape.blocks) * shape.m * shape.m), d(c.size());
      const auto random = [&] {
        uint64_t bits = draw.Next();
        // Ordinary exponents for the formats of 32 and 16 bits, anything else as it comes.
        if (shape.bits == 32) bits = (bits & 0x807fffff) | (120 + (bits >> 32) % 16) << 23;
        return bits;
      };
      for (int block = 0; block < shape.blocks; ++block) {
        for (int i = 0; i < shape.m; ++i) {
          for (int k = 0; k < shape.k; ++k) {
            const uint64_t x = random(), y = random();
            std::memcpy(&a[static_cast<size_t>((block * shape.m + i) * shape.k + k) * bytes], &x,
                        bytes);
            std::memcpy(&b[static_cast<size_t>((block * shape.k + k) * shape.m + i) * bytes], &y,
                        bytes);
            const uint64_t mask = (uint64_t{1} << shape.bits) - 1;
            Put(kA, shape.bits, shape.seats(block, i, k), x & mask);
            Put(kB, shape.bits, shape.seats(block, i, k), y & mask);
          }
        }
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int r = 0; r < CWords(shape); ++r) {
          int block, i, j;
          PlaceOfC(shape, lane, r, block, i, j);
          const uint64_t bits = draw.Next();
          const auto value =
              static_cast<uint32_t>((bits & 0x807fffff) | (110 + (bits >> 32) % 30) << 23);
          Set(kC + r, lane, value);
          c[(block * shape.m + i) * shape.m + j] = value;
        }
      }
      if (IsGfx950()) {
        cdna4::Execute(*instruction, a.data(), b.data(), c.data(), d.data());
      } else {
        cdna3::Execute(*instruction, a.data(), b.data(), c.data(), d.data());
      }
      Run(Text(shape));
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int r = 0; r < CWords(shape); ++r) {
          int block, i, j;
          PlaceOfC(shape, lane, r, block, i, j);
          ASSERT_EQ(Get(kD + r, lane), d[(block * shape.m + i) * shape.m + j])
              << shape.name << " block " << block << " row " << i << " column " << j;
        }
      }
    }
  }
}

// cbsz and abid: of each 2^cbsz blocks all take the A of block abid.
TEST_P(MatrixTest, BroadcastsOfA) {
  for (const Shape& shape : Shapes(IsGfx950())) {
    if (shape.blocks == 1) continue;
    if (shape.wide == 2) continue;
    for (int cbsz = 1; (1 << cbsz) <= shape.blocks; ++cbsz) {
      for (int abid = 0; abid < (1 << cbsz); ++abid) {
        Fill(shape);
        FillC(shape, kC);
        Run(Text(shape, " cbsz:" + std::to_string(cbsz) + " abid:" + std::to_string(abid)));
        ExpectD(
            shape, kD,
            [&](int block, int i, int j) {
              const int group = block / (1 << cbsz) * (1 << cbsz);
              return Product(shape, group + abid, block, i, j);
            },
            [](int i, int j) { return 100 * i + j; });
        if (HasFailure()) return;
      }
    }
  }
}

// blgp on 4 blocks of 16 columns, where each group of 16 lanes is a block of its own.
TEST_P(MatrixTest, LaneGroupsOfB) {
  for (const Shape& shape : Shapes(IsGfx950())) {
    if (shape.name != "v_mfma_f32_16x16x1_4b_f32" && shape.name != "v_mfma_f32_16x16x4_4b_f16")
      continue;
    const int kFrom[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
                             {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
    for (int blgp = 0; blgp < 8; ++blgp) {
      Fill(shape);
      FillC(shape, kC);
      Run(Text(shape, " blgp:" + std::to_string(blgp)));
      ExpectD(
          shape, kD,
          [&](int block, int i, int j) { return Product(shape, block, kFrom[blgp][block], i, j); },
          [](int i, int j) { return 100 * i + j; });
      if (HasFailure()) return;
    }
  }
}

TEST_P(MatrixTest, SignsOfDoubles) {
  for (const Shape& shape : Shapes(IsGfx950())) {
    if (shape.wide != 2) continue;
    for (int neg = 0; neg < 8; ++neg) {
      Fill(shape);
      FillC(shape, kC);
      const auto bit = [neg](int i) { return std::to_string((neg >> i) & 1); };
      Run(Text(shape, " neg:[" + bit(0) + "," + bit(1) + "," + bit(2) + "]"));
      const double sign = ((neg ^ (neg >> 1)) & 1) != 0 ? -1 : 1;
      ExpectD(
          shape, kD,
          [&](int block, int i, int j) { return sign * Product(shape, block, block, i, j); },
          [&](int i, int j) { return ((neg & 4) != 0 ? -1.0 : 1.0) * (100 * i + j); });
      if (HasFailure()) return;
    }
  }
}

TEST_P(MatrixTest, IntegersWrap) {
  const Shape shape = {"v_mfma_i32_16x16x32_i8", 16, 32, 1, 8, Runs(16, 1, 8), true};
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int r = 0; r < 2; ++r) {
      Set(kA + r, lane, 0x80808080u);
      Set(kB + r, lane, 0x80808080u);
    }
    for (int r = 0; r < 4; ++r) Set(kC + r, lane, 0x7fffffffu);
  }
  Run(Text(shape));
  EXPECT_EQ(Get(kD, 5), 0x7fffffffu + 32 * 128 * 128);
}

INSTANTIATE_TEST_SUITE_P(Chips, MatrixTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
