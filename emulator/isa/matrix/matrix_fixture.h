#ifndef LANEWISE_EMULATOR_ISA_MATRIX_MATRIX_FIXTURE_H_
#define LANEWISE_EMULATOR_ISA_MATRIX_MATRIX_FIXTURE_H_

// For tests of matrix instructions: their shapes and where each element sits, spelled out from the
// manuals' tables; operands of small integers, on which every arithmetic agrees.

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/testing/instruction_fixture.h"
#include "formats/formats.h"

namespace lanewise::emulator {

// Where element (outer, k) of A or B of a block sits: which lane has it, and its number among the
// elements of that lane's registers.
struct Seat {
  int lane;
  int position;
};
using Seats = std::function<Seat(int block, int outer, int k)>;

struct Shape {
  std::string name;  // mnemonic
  int m, k, blocks;
  int bits;  // of an element of A and B
  Seats seats;
  bool integer = false;
  int wide = 1;  // registers of an element of C
};

// k in runs of `run` a lane, rows first, then blocks, then runs.
inline Seats Runs(int m, int blocks, int run) {
  return [=](int block, int outer, int k) {
    return Seat{outer + m * (block + blocks * (k / run)), k % run};
  };
}

inline std::vector<Shape> Shapes(bool gfx950) {
  std::vector<Shape> all = {
      {"v_mfma_f32_16x16x4_f32", 16, 4, 1, 32, Runs(16, 1, 1)},
      {"v_mfma_f32_32x32x2_f32", 32, 2, 1, 32, Runs(32, 1, 1)},
      {"v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, 32, Runs(32, 2, 1)},
      {"v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, 32, Runs(16, 4, 1)},
      {"v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, 32, Runs(4, 16, 1)},
      {"v_mfma_f32_16x16x16_f16", 16, 16, 1, 16, Runs(16, 1, 4)},
      {"v_mfma_f32_32x32x8_f16", 32, 8, 1, 16, Runs(32, 1, 4)},
      {"v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, 16, Runs(32, 2, 4)},
      {"v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, 16, Runs(16, 4, 4)},
      {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, 16, Runs(4, 16, 4)},
      {"v_mfma_f32_16x16x16_bf16", 16, 16, 1, 16, Runs(16, 1, 4)},
      {"v_mfma_f32_32x32x8_bf16", 32, 8, 1, 16, Runs(32, 1, 4)},
      {"v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, 16, Runs(32, 2, 4)},
      {"v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4, 16, Runs(16, 4, 4)},
      {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, 16, Runs(4, 16, 4)},
      {"v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1, 8, Runs(16, 1, 8)},
      {"v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 1, 8, Runs(16, 1, 8)},
      {"v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 1, 8, Runs(32, 1, 8)},
      {"v_mfma_f32_32x32x16_bf8_bf8", 32, 16, 1, 8, Runs(32, 1, 8)},
      {"v_mfma_i32_16x16x32_i8", 16, 32, 1, 8, Runs(16, 1, 8), true},
      {"v_mfma_i32_32x32x16_i8", 32, 16, 1, 8, Runs(32, 1, 8), true},
      {"v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, 8, Runs(32, 2, 4), true},
      {"v_mfma_i32_16x16x4_4b_i8", 16, 4, 4, 8, Runs(16, 4, 4), true},
      {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, 8, Runs(4, 16, 4), true},
      {"v_mfma_f64_16x16x4_f64", 16, 4, 1, 64, Runs(16, 1, 1), false, 2},
      {"v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, 64, Runs(4, 4, 1), false, 2},
  };
  if (gfx950) {
    all.push_back({"v_mfma_f32_16x16x32_bf16", 16, 32, 1, 16, Runs(16, 1, 8)});
    all.push_back({"v_mfma_f32_32x32x16_bf16", 32, 16, 1, 16, Runs(32, 1, 8)});
    all.push_back({"v_mfma_f32_16x16x32_f16", 16, 32, 1, 16, Runs(16, 1, 8)});
    all.push_back({"v_mfma_f32_32x32x16_f16", 32, 16, 1, 16, Runs(32, 1, 8)});
    all.push_back({"v_mfma_i32_16x16x64_i8", 16, 64, 1, 8, Runs(16, 1, 16), true});
    all.push_back({"v_mfma_i32_32x32x32_i8", 32, 32, 1, 8, Runs(32, 1, 16), true});
  } else {
    all.push_back({"v_mfma_f32_16x16x8_xf32", 16, 8, 1, 32, Runs(16, 1, 2)});
    all.push_back({"v_mfma_f32_32x32x4_xf32", 32, 4, 1, 32, Runs(32, 1, 2)});
  }
  return all;
}

// Row, column and block of register r (pair r) of a lane of C and D.
inline void PlaceOfC(const Shape& shape, int lane, int r, int& block, int& row, int& column) {
  block = 0;
  if (shape.wide == 2) {
    row = shape.m == 16 ? 4 * r + lane / 16 : lane / 16;
    column = shape.m == 16 ? lane % 16 : lane % 4;
    if (shape.m == 4) block = lane % 16 / 4;
  } else if (shape.m == 16) {
    block = r / 4;
    row = 4 * (lane / 16) + r % 4;
    column = lane % 16;
  } else if (shape.m == 32) {
    block = r / 16;
    row = 8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4;
    column = lane % 32;
  } else {
    block = lane / 4;
    row = r;
    column = lane % 4;
  }
}

inline constexpr int kA = 16, kB = 32, kC = 64, kD = 128;

inline std::string Registers(const char* file, int first, int count) {
  if (count == 1) return file + std::to_string(first);
  return std::string(file) + "[" + std::to_string(first) + ":" + std::to_string(first + count - 1) +
         "]";
}

class MatrixTest : public InstructionTest {
 protected:
  int Words(const Shape& shape) const {
    return shape.m * shape.k * shape.blocks / 64 * shape.bits / 32;
  }
  int CWords(const Shape& shape) const {
    return shape.m * shape.m * shape.blocks / 64 * shape.wide;
  }
  std::string Text(const Shape& shape, const std::string& suffix = "",
                   const char* file = "v") const {
    return shape.name + " " + Registers(file, kD, CWords(shape)) + ", " +
           Registers("v", kA, Words(shape)) + ", " + Registers("v", kB, Words(shape)) + ", " +
           Registers(file, kC, CWords(shape)) + suffix;
  }

  // A small integer as an element of operand A or B of the instruction.
  uint64_t Encode(const Shape& shape, bool is_a, int value) const {
    const std::string& name = shape.name;
    if (shape.integer) return static_cast<uint8_t>(value);
    if (shape.bits == 64) return std::bit_cast<uint64_t>(static_cast<double>(value));
    if (shape.bits == 32) return std::bit_cast<uint32_t>(static_cast<float>(value));
    const auto x = static_cast<float>(value);
    if (shape.bits == 16) {
      return name.find("bf16") != std::string::npos ? Bf16::FromFloat(x).bits()
                                                    : F16::FromFloat(x).bits();
    }
    const std::string types = name.substr(name.size() - 7);
    const bool bf8 = types.substr(is_a ? 0 : 4, 3) == "bf8";
    if (IsGfx950()) return bf8 ? E5m2::FromFloat(x).bits() : E4m3Fn::FromFloat(x).bits();
    return bf8 ? E5m2Fnuz::FromFloat(x).bits() : E4m3Fnuz::FromFloat(x).bits();
  }

  void Put(int row, int bits, const Seat& seat, uint64_t code) {
    if (bits == 64) {
      Set64(row + 2 * seat.position, seat.lane, code);
      return;
    }
    const int bit = bits * seat.position;
    uint32_t& word = wave_->vector[row + bit / 32][seat.lane];
    const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << bits) - 1);
    word = (word & ~(mask << (bit % 32))) | static_cast<uint32_t>(code) << (bit % 32);
  }

  static int ValueOfA(int block, int i, int k) { return (3 * i + 5 * k + 7 * block) % 9 - 4; }
  static int ValueOfB(int block, int j, int k) { return (2 * j + 3 * k + 5 * block) % 7 - 3; }

  void Fill(const Shape& shape) {
    for (int block = 0; block < shape.blocks; ++block) {
      for (int i = 0; i < shape.m; ++i) {
        for (int k = 0; k < shape.k; ++k) {
          Put(kA, shape.bits, shape.seats(block, i, k), Encode(shape, true, ValueOfA(block, i, k)));
          Put(kB, shape.bits, shape.seats(block, i, k),
              Encode(shape, false, ValueOfB(block, i, k)));
        }
      }
    }
  }
  // C[i][j] = 100 i + j in registers from `row`.
  void FillC(const Shape& shape, int row) {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int r = 0; r < CWords(shape) / shape.wide; ++r) {
        int block, i, j;
        PlaceOfC(shape, lane, r, block, i, j);
        const int value = 100 * i + j;
        if (shape.wide == 2) {
          Set64(row + 2 * r, lane, std::bit_cast<uint64_t>(static_cast<double>(value)));
        } else if (shape.integer) {
          Set(row + r, lane, static_cast<uint32_t>(value));
        } else {
          SetF32(row + r, lane, static_cast<float>(value));
        }
      }
    }
  }
  double D(const Shape& shape, int row, int lane, int r) const {
    if (shape.wide == 2) return std::bit_cast<double>(Get64(row + 2 * r, lane));
    if (shape.integer) return static_cast<int32_t>(Get(row + r, lane));
    return F32(row + r, lane);
  }
  // product(block, i, j) is what is to be added to c(i, j).
  void ExpectD(const Shape& shape, int row, const std::function<double(int, int, int)>& product,
               const std::function<double(int, int)>& c) {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int r = 0; r < CWords(shape) / shape.wide; ++r) {
        int block, i, j;
        PlaceOfC(shape, lane, r, block, i, j);
        ASSERT_EQ(D(shape, row, lane, r), c(i, j) + product(block, i, j))
            << shape.name << " block " << block << " row " << i << " column " << j << " lane "
            << lane << " register " << r;
      }
    }
  }
  static double Product(const Shape& shape, int block_a, int block_b, int i, int j) {
    int sum = 0;
    for (int k = 0; k < shape.k; ++k) sum += ValueOfA(block_a, i, k) * ValueOfB(block_b, j, k);
    return sum;
  }
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_MATRIX_MATRIX_FIXTURE_H_
