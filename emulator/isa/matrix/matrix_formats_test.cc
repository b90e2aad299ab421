// Sparse matrix instructions, and gfx950's with formats by modifier and scales.

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/isa/matrix/matrix_fixture.h"
#include "emulator/testing/instruction_fixture.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

class MatrixFormatsTest : public MatrixTest {};

// ---- sparse ----

TEST_P(MatrixFormatsTest, Sparse) {
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

TEST_P(MatrixFormatsTest, FormatsByModifier) {
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

INSTANTIATE_TEST_SUITE_P(Chips, MatrixFormatsTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
