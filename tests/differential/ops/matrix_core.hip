// One wave runs one matrix instruction on row-major arrays: A [blocks][m][k], B [blocks][k][m],
// C and D [blocks][m][m]. Which lane holds what is written out here from the manuals' tables, and
// nothing is shared with the emulator.

#include <cstdint>

#include "hip/device.h"

namespace {

template <class T, int kCount>
using Vector = T __attribute__((ext_vector_type(kCount)));

// Element r of a lane of C and D: its index in the array.
template <int kM>
__device__ int PlaceOfC(int lane, int r) {
  if (kM == 16) return (r / 4 * 16 + 4 * (lane / 16) + r % 4) * 16 + lane % 16;
  if (kM == 32) return (r / 16 * 32 + 8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4) * 32 + lane % 32;
  return (lane / 4 * 4 + r) * 4 + lane % 4;
}

// Lanes are groups of m rows; first come the blocks, then runs of k. A lane's elements follow each
// other in k. `multiply(a, b, c)` is the instruction.
template <class Element, int kM, int kK, int kBlocks, class Multiply>
__device__ void Run(const Element* a, const Element* b, const float* c, float* d,
                    Multiply multiply) {
  constexpr int kInput = kM * kK * kBlocks / 64, kOutput = kM * kM * kBlocks / 64;
  const int lane = static_cast<int>(lanewise::device::LaneId());
  const int group = lane / kM, outer = lane % kM;
  const int block = group % kBlocks, first = group / kBlocks * kInput;
  Vector<Element, kInput> a_part, b_part;
  for (int i = 0; i < kInput; ++i) {
    a_part[i] = a[(block * kM + outer) * kK + first + i];
    b_part[i] = b[(block * kK + first + i) * kM + outer];
  }
  Vector<float, kOutput> sums;
  for (int r = 0; r < kOutput; ++r) sums[r] = c[PlaceOfC<kM>(lane, r)];
  sums = multiply(a_part, b_part, sums);
  for (int r = 0; r < kOutput; ++r) d[PlaceOfC<kM>(lane, r)] = sums[r];
}

}  // namespace

// A kernel named as the instruction. `type` is what the builtin takes for a lane's elements.
#define LANEWISE_KERNEL(instruction, builtin, element, type, m, k, blocks)                        \
  extern "C" __global__ void __launch_bounds__(64)                                                \
      instruction(const element* a, const element* b, const float* c, float* d) {                 \
    Run<element, m, k, blocks>(a, b, c, d, [](auto a_part, auto b_part, auto sums) {              \
      return builtin(__builtin_bit_cast(type, a_part), __builtin_bit_cast(type, b_part), sums, 0, \
                     0, 0);                                                                       \
    });                                                                                           \
  }

using Half4 = Vector<_Float16, 4>;
using Short4 = Vector<short, 4>;

LANEWISE_KERNEL(v_mfma_f32_16x16x32_fp8_fp8, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8, uint8_t,
                long, 16, 32, 1)
LANEWISE_KERNEL(v_mfma_f32_16x16x32_fp8_bf8, __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8, uint8_t,
                long, 16, 32, 1)
LANEWISE_KERNEL(v_mfma_f32_16x16x32_bf8_fp8, __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8, uint8_t,
                long, 16, 32, 1)
LANEWISE_KERNEL(v_mfma_f32_16x16x32_bf8_bf8, __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8, uint8_t,
                long, 16, 32, 1)
LANEWISE_KERNEL(v_mfma_f32_32x32x16_fp8_fp8, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8, uint8_t,
                long, 32, 16, 1)
LANEWISE_KERNEL(v_mfma_f32_32x32x16_fp8_bf8, __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8, uint8_t,
                long, 32, 16, 1)
LANEWISE_KERNEL(v_mfma_f32_32x32x16_bf8_fp8, __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8, uint8_t,
                long, 32, 16, 1)
LANEWISE_KERNEL(v_mfma_f32_32x32x16_bf8_bf8, __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8, uint8_t,
                long, 32, 16, 1)
LANEWISE_KERNEL(v_mfma_f32_16x16x16_bf16, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k, uint16_t,
                Short4, 16, 16, 1)
LANEWISE_KERNEL(v_mfma_f32_32x32x8_bf16, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k, uint16_t, Short4,
                32, 8, 1)
LANEWISE_KERNEL(v_mfma_f32_16x16x16_f16, __builtin_amdgcn_mfma_f32_16x16x16f16, uint16_t, Half4, 16,
                16, 1)
LANEWISE_KERNEL(v_mfma_f32_32x32x8_f16, __builtin_amdgcn_mfma_f32_32x32x8f16, uint16_t, Half4, 32,
                8, 1)
LANEWISE_KERNEL(v_mfma_f32_16x16x4_f32, __builtin_amdgcn_mfma_f32_16x16x4f32, float, float, 16, 4,
                1)
LANEWISE_KERNEL(v_mfma_f32_32x32x2_f32, __builtin_amdgcn_mfma_f32_32x32x2f32, float, float, 32, 2,
                1)
LANEWISE_KERNEL(v_mfma_f32_32x32x1_2b_f32, __builtin_amdgcn_mfma_f32_32x32x1f32, float, float, 32,
                1, 2)
LANEWISE_KERNEL(v_mfma_f32_16x16x1_4b_f32, __builtin_amdgcn_mfma_f32_16x16x1f32, float, float, 16,
                1, 4)
LANEWISE_KERNEL(v_mfma_f32_4x4x1_16b_f32, __builtin_amdgcn_mfma_f32_4x4x1f32, float, float, 4, 1,
                16)

#if defined(__gfx950__)

using Half8 = Vector<_Float16, 8>;
using Bf8 = Vector<__bf16, 8>;

LANEWISE_KERNEL(v_mfma_f32_16x16x32_bf16, __builtin_amdgcn_mfma_f32_16x16x32_bf16, uint16_t, Bf8,
                16, 32, 1)
LANEWISE_KERNEL(v_mfma_f32_32x32x16_bf16, __builtin_amdgcn_mfma_f32_32x32x16_bf16, uint16_t, Bf8,
                32, 16, 1)
LANEWISE_KERNEL(v_mfma_f32_16x16x32_f16, __builtin_amdgcn_mfma_f32_16x16x32_f16, uint16_t, Half8,
                16, 32, 1)
LANEWISE_KERNEL(v_mfma_f32_32x32x16_f16, __builtin_amdgcn_mfma_f32_32x32x16_f16, uint16_t, Half8,
                32, 16, 1)

namespace {

using Words = Vector<int, 8>;

// A lane's 32 elements of an f8f6f4 operand, one to a byte in memory, `stride` apart along k,
// packed to `bits` each. Of 8 bits a lane has two runs of 16 k, else one of 32. (Volatile, or the
// compiler joins bytes to words that are not aligned, which the emulator refuses.)
template <int kBits, int kM>
__device__ Words Packed(const volatile uint8_t* row, int stride, int group) {
  constexpr int kGroups = 64 / kM;
  uint32_t words[8] = {};
  for (int e = 0; e < 32; ++e) {
    const int k = kBits == 8 ? 16 * (group + kGroups * (e / 16)) + e % 16 : 32 * group + e;
    const uint32_t code = row[k * stride];
    const int bit = kBits * e;
    words[bit / 32] |= code << bit % 32;
    if (bit % 32 + kBits > 32) words[bit / 32 + 1] |= code >> (32 - bit % 32);
  }
  Words packed;
  for (int i = 0; i < 8; ++i) packed[i] = static_cast<int>(words[i]);
  return packed;
}

// Formats 0 and 1 have 8 bits, 2 and 3 have 6, 4 has 4.
template <int kM>
__device__ Words Packed(int format, const uint8_t* row, int stride, int group) {
  if (format < 2) return Packed<8, kM>(row, stride, group);
  if (format < 4) return Packed<6, kM>(row, stride, group);
  return Packed<4, kM>(row, stride, group);
}

// Of the instruction of m x m x k; scaled where there are scale codes, [m][k / 32] and [k / 32][m].
template <int kM, int kK, class Multiply>
__device__ void RunF8f6f4(const uint8_t* a, const uint8_t* b, const uint8_t* a_scales,
                          const uint8_t* b_scales, const float* c, float* d, int a_format,
                          int b_format, Multiply multiply) {
  constexpr int kOutput = kM * kM / 64;
  const int lane = static_cast<int>(lanewise::device::LaneId());
  const int group = lane / kM, outer = lane % kM;
  const Words a_part = Packed<kM>(a_format, a + outer * kK, 1, group);
  const Words b_part = Packed<kM>(b_format, b + outer, kM, group);
  const int a_scale = a_scales == nullptr ? 0 : a_scales[outer * (kK / 32) + group];
  const int b_scale = b_scales == nullptr ? 0 : b_scales[group * kM + outer];
  Vector<float, kOutput> sums;
  for (int r = 0; r < kOutput; ++r) sums[r] = c[PlaceOfC<kM>(lane, r)];
  sums = multiply(a_part, b_part, sums, a_scale, b_scale);
  for (int r = 0; r < kOutput; ++r) d[PlaceOfC<kM>(lane, r)] = sums[r];
}

}  // namespace

// The formats are immediate operands, so that each pair is an instruction of its own.
#define LANEWISE_PAIR(builtin, a_index, b_index, ...)                    \
  case 5 * a_index + b_index:                                            \
    sums = builtin(a_part, b_part, sums, a_index, b_index, __VA_ARGS__); \
    break;
#define LANEWISE_ROW(builtin, a_index, ...)       \
  LANEWISE_PAIR(builtin, a_index, 0, __VA_ARGS__) \
  LANEWISE_PAIR(builtin, a_index, 1, __VA_ARGS__) \
  LANEWISE_PAIR(builtin, a_index, 2, __VA_ARGS__) \
  LANEWISE_PAIR(builtin, a_index, 3, __VA_ARGS__) \
  LANEWISE_PAIR(builtin, a_index, 4, __VA_ARGS__)
#define LANEWISE_F8F6F4(instruction, builtin, m, k, scaled, ...)                                   \
  extern "C" __global__ void __launch_bounds__(64)                                                 \
      instruction(const uint8_t* a, const uint8_t* b, const uint8_t* a_scales,                     \
                  const uint8_t* b_scales, const float* c, float* d, int a_format, int b_format) { \
    RunF8f6f4<m, k>(a, b, scaled ? a_scales : nullptr, scaled ? b_scales : nullptr, c, d,          \
                    a_format, b_format,                                                            \
                    [=](Words a_part, Words b_part, auto sums, [[maybe_unused]] int a_scale,       \
                        [[maybe_unused]] int b_scale) {                                            \
                      switch (5 * a_format + b_format) {                                           \
                        LANEWISE_ROW(builtin, 0, __VA_ARGS__)                                      \
                        LANEWISE_ROW(builtin, 1, __VA_ARGS__)                                      \
                        LANEWISE_ROW(builtin, 2, __VA_ARGS__)                                      \
                        LANEWISE_ROW(builtin, 3, __VA_ARGS__)                                      \
                        LANEWISE_ROW(builtin, 4, __VA_ARGS__)                                      \
                      }                                                                            \
                      return sums;                                                                 \
                    });                                                                            \
  }

LANEWISE_F8F6F4(v_mfma_scale_f32_16x16x128_f8f6f4, __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4,
                16, 128, true, 0, a_scale, 0, b_scale)
LANEWISE_F8F6F4(v_mfma_scale_f32_32x32x64_f8f6f4, __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4,
                32, 64, true, 0, a_scale, 0, b_scale)
// With scales of a constant zero the compiler chooses the instruction without any.
LANEWISE_F8F6F4(v_mfma_f32_16x16x128_f8f6f4, __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4, 16,
                128, false, 0, 0, 0, 0)
LANEWISE_F8F6F4(v_mfma_f32_32x32x64_f8f6f4, __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4, 32, 64,
                false, 0, 0, 0, 0)

#endif  // __gfx950__
