// Matrix instructions: where each operand's elements sit (small integers, so that every arithmetic
// agrees), the arithmetic (against the reference on random bits), and the modifiers.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "formats/formats.h"
#include "hip/emulator/instruction_fixture.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::emulator {
namespace {

// Where element (outer, k) of A or B of a block sits: lane, and element number in the lane's
// registers.
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
Seats Runs(int m, int blocks, int run) {
  return [=](int block, int outer, int k) {
    return Seat{outer + m * (block + blocks * (k / run)), k % run};
  };
}

std::vector<Shape> Shapes(bool gfx950) {
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
void PlaceOfC(const Shape& shape, int lane, int r, int& block, int& row, int& column) {
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

constexpr int kA = 16, kB = 32, kC = 64, kD = 128;

std::string Registers(const char* file, int first, int count) {
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

// ---- sparse ----

TEST_P(MatrixTest, Sparse) {
  struct Case {
    std::string name;
    int m, k, bits;
    bool integer;
  };
  const Case kCases[] = {{"v_smfmac_f32_16x16x32_f16", 16, 32, 16, false},
                         {"v_smfmac_f32_32x32x16_bf16", 32, 16, 16, false},
                         {"v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, 8, false},
                         {"v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, 8, false},
                         {"v_smfmac_i32_16x16x64_i8", 16, 64, 8, true}};
  for (const Case& test : kCases) {
    Shape shape = {test.name, test.m, test.k, 1, test.bits, nullptr, test.integer};
    const int per_lane = test.k * test.m / kLanes;  // of B; A has half as many
    const int sets = test.bits == 16 ? 4 : 2;
    for (int set = 0; set < sets; ++set) {
      // Of each four k, A has the two at positions that depend on the row and the group.
      const int kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
      const auto pair = [&](int i, int group) { return kPairs[(i + group) % 6]; };
      for (int lane = 0; lane < kLanes; ++lane) {
        const int i = lane % test.m;
        uint64_t index = 0;
        for (int e = 0; e < per_lane / 2; ++e) {
          const int group = lane / test.m * per_lane / 4 + e / 2;
          const int within = pair(i, group)[e % 2];
          index |= static_cast<uint64_t>(within) << (2 * e);
          Put(kA, test.bits, {lane, e}, Encode(shape, true, ValueOfA(0, i, 4 * group + within)));
        }
        Set(60, lane, static_cast<uint32_t>(index << (32 / sets * set)));
        for (int e = 0; e < per_lane; ++e) {
          Put(kB, test.bits, {lane, e},
              Encode(shape, false, ValueOfB(0, i, lane / test.m * per_lane + e)));
        }
      }
      FillC(shape, kD);
      const int b_words = per_lane * test.bits / 32;
      Run(test.name + " " + Registers("v", kD, CWords(shape)) + ", " +
          Registers("v", kA, b_words / 2) + ", " + Registers("v", kB, b_words) +
          ", v60 abid:" + std::to_string(set));
      ExpectD(
          shape, kD,
          [&](int, int i, int j) {
            int sum = 0;
            for (int k = 0; k < test.k; ++k) {
              const int* there = pair(i, k / 4);
              if (k % 4 == there[0] || k % 4 == there[1])
                sum += ValueOfA(0, i, k) * ValueOfB(0, j, k);
            }
            return sum;
          },
          [](int i, int j) { return 100 * i + j; });
      if (HasFailure()) return;
    }
  }
}

// ---- gfx950: formats by modifier, and scales ----

struct Narrow {
  int bits;
  uint32_t (*encode)(float);
};
constexpr Narrow kNarrow[] = {
    {8, [](float x) { return uint32_t{E4m3Fn::FromFloat(x).bits()}; }},
    {8, [](float x) { return uint32_t{E5m2::FromFloat(x).bits()}; }},
    {6, [](float x) { return uint32_t{E2m3::FromFloat(x).bits()}; }},
    {6, [](float x) { return uint32_t{E3m2::FromFloat(x).bits()}; }},
    {4, [](float x) { return uint32_t{E2m1::FromFloat(x).bits()}; }},
};

TEST_P(MatrixTest, FormatsByModifier) {
  if (!IsGfx950()) return;
  for (int m : {16, 32}) {
    const int k_size = m == 16 ? 128 : 64;
    const std::string shape_name = m == 16 ? "16x16x128" : "32x32x64";
    const Shape shape = {"", m, k_size, 1, 8, nullptr};
    for (int a_format = 0; a_format < 5; ++a_format) {
      for (int b_format = 0; b_format < 5; ++b_format) {
        // FACTS: 8 bits: lane m ((k / 16) % (64 / m)) + i, byte 16 (k / (1024 / m)) + k % 16;
        // 6 and 4: lane m (k / 32) + i, element k % 32.
        const auto put = [&](int row, int bits, int outer, int k, uint32_t code) {
          const Seat seat =
              bits == 8 ? Seat{m * ((k / 16) % (64 / m)) + outer, 16 * (k / (1024 / m)) + k % 16}
                        : Seat{m * (k / 32) + outer, k % 32};
          const int bit = bits * seat.position;
          uint64_t pair = wave_->vector[row + bit / 32][seat.lane] |
                          static_cast<uint64_t>(wave_->vector[row + bit / 32 + 1][seat.lane]) << 32;
          const uint64_t mask = ((uint64_t{1} << bits) - 1) << (bit % 32);
          pair = (pair & ~mask) | static_cast<uint64_t>(code) << (bit % 32);
          wave_->vector[row + bit / 32][seat.lane] = static_cast<uint32_t>(pair);
          wave_->vector[row + bit / 32 + 1][seat.lane] = static_cast<uint32_t>(pair >> 32);
        };
        for (int i = 0; i < m; ++i) {
          for (int k = 0; k < k_size; ++k) {
            put(kA, kNarrow[a_format].bits, i, k,
                kNarrow[a_format].encode(static_cast<float>(ValueOfA(0, i, k))));
            put(kB, kNarrow[b_format].bits, i, k,
                kNarrow[b_format].encode(static_cast<float>(ValueOfB(0, i, k))));
          }
        }
        FillC(shape, kC);
        const std::string operands = Registers("v", kD, CWords(shape)) + ", " +
                                     Registers("v", kA, kNarrow[a_format].bits) + ", " +
                                     Registers("v", kB, kNarrow[b_format].bits) + ", " +
                                     Registers("v", kC, CWords(shape));
        const std::string formats =
            " cbsz:" + std::to_string(a_format) + " blgp:" + std::to_string(b_format);
        Run("v_mfma_f32_" + shape_name + "_f8f6f4 " + operands + formats);
        ExpectD(
            shape, kD, [&](int, int i, int j) { return Product(shape, 0, 0, i, j); },
            [](int i, int j) { return 100 * i + j; });
        if (HasFailure()) return;

        // Scales: block b of row i in lane m b + i, byte chosen by op_sel.
        for (int byte = 0; byte < 4; ++byte) {
          const auto a_scale = [](int i, int block) { return 127 + (i + block) % 3 - 1; };
          const auto b_scale = [](int j, int block) { return 127 + (2 * j + block) % 2; };
          for (int lane = 0; lane < m * k_size / 32; ++lane) {
            const uint32_t others = 0xffffffffu & ~(0xffu << (8 * byte));  // NaN, if read
            Set(50, lane,
                others | static_cast<uint32_t>(a_scale(lane % m, lane / m)) << (8 * byte));
            Set(51, lane,
                others | static_cast<uint32_t>(b_scale(lane % m, lane / m)) << (8 * byte));
          }
          const std::string low = std::to_string(byte & 1), high = std::to_string(byte >> 1);
          Run("v_mfma_scale_f32_" + shape_name + "_f8f6f4 " + operands + ", v50, v51 op_sel:[" +
              low + "," + low + ",0] op_sel_hi:[" + high + "," + high + ",0]" + formats);
          ExpectD(
              shape, kD,
              [&](int, int i, int j) {
                double sum = 0;
                for (int k = 0; k < k_size; ++k) {
                  sum += std::ldexp(ValueOfA(0, i, k) * ValueOfB(0, j, k),
                                    a_scale(i, k / 32) + b_scale(j, k / 32) - 254);
                }
                return sum;
              },
              [](int i, int j) { return 100 * i + j; });
          if (HasFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, MatrixTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
