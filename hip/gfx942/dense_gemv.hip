// The dense FP8 GEMV of gfx942: dense_gemv.h says what it computes.
//
// Three kernels in the order of their launches:
//   QuantizeActivations   bf16 rows to FNUZ bytes in the order of the matrix core's operand;
//     or QuantizeGated    the same of rows of gate and up, through their activation
//   DenseGemv8, -4        a tile of 16 weight rows by 8 or by 4 waves; all tokens, 16 a pass
//   CombineSplits         the workgroups' sums in their order, where K is split
//
// Nothing of an operand is used by two waves of a workgroup, so none passes through LDS: each
// lane loads its own operand bytes, for weights and activations alike 1 KiB a wave without a gap.
// Only the waves' sums meet there.

#include <cstdint>
#include <cstdlib>  // before <span>: the compiler's <new> needs malloc

#include "hip/device.h"
#include "hip/device/loads.h"
#include "hip/device/quantize_block.h"
#include "hip/device/quantizer.h"
#include "hip/device/round_to_bf16.h"
#include "hip/device/scale_add.h"
#include "hip/device/shared_activation.h"
#include "hip/gfx942/dense_gemv_arguments.h"
#include "layouts/catalogue.h"
#include "layouts/lane_index.h"

namespace lanewise::device {
namespace {

using hip::gfx942::DenseGemvArguments;
using hip::gfx942::kPassTokens;
using hip::gfx942::kStepBytes;
using hip::gfx942::kTileRows;

constexpr uint32_t kStepColumns = 128;
constexpr uint32_t kStepBlocks = 4;
// Steps whose operands are in flight or in registers at a time: 4 KiB a wave each, if all of
// 16 tokens are there.
constexpr uint32_t kDepth = 4;

// ---- Where a lane's bytes are ----

// The weight as the catalogue says that lanes load it: {step, half} from the tile's first byte.
using Weight = LaneIndex<CatalogueLayout("gfx942/dense").lane_pattern()>;
static_assert(Weight::kLanes == kWaveSize && Weight::kLoadBytes == sizeof(Uint4));
static_assert(Weight::kIsWithoutGap && Weight::LinesPerLoad() == 8);
static_assert(Weight::Offset<uint32_t>(0, {1, 0}) == kStepBytes);

// An activation's bytes in the workspace: as the weight's of a tile that has `tokens` rows. Of a
// full pass that is gfx942/dense itself.
__device__ uint32_t ActivationOffset(uint32_t step, uint32_t half, uint32_t group, uint32_t token,
                                     uint32_t tokens) {
  return 16 * (((2 * step + half) * 4 + group) * tokens + token);
}

__device__ uint32_t TokensOfPass(uint32_t tokens, uint32_t pass) {
  const uint32_t left = tokens - pass * kPassTokens;
  return left < kPassTokens ? left : kPassTokens;
}

// ---- QuantizeActivations ----

// Work-items: x: groups of 8 columns of the padded K, y: tokens, z: the weight's groups. kGated: a
// row is K gates, then K ups.
template <bool kGated>
__device__ void QuantizeActivations(const DenseGemvArguments& a) {
  const uint32_t chunk = blockIdx.x * 256 + threadIdx.x;
  const uint32_t token = blockIdx.y;
  const uint32_t padded_k = a.steps * kStepColumns;
  if (chunk >= padded_k / 8) return;
  const uint64_t first_token = uint64_t{blockIdx.z} * a.tokens + token / kPassTokens * kPassTokens;
  const uint32_t in_pass = token % kPassTokens;
  const uint32_t tokens = TokensOfPass(a.tokens, token / kPassTokens);
  const uint32_t block = chunk / 4;
  const uint32_t step = block / kStepBlocks;

  Uint2 bytes = {0, 0};
  uint32_t code = 127;
  if (chunk < a.k / 8) {
    // The 4 lanes of a block lie together, and K ends with a block.
    const uint16_t* row = a.x + token * a.x_stride + uint64_t{blockIdx.z} * a.k;
    float x[8];
    LoadBf16(row + 8 * chunk, x);
    if constexpr (kGated) {
      float up[8];
      LoadBf16(row + a.k + 8 * chunk, up);
#pragma unroll
      for (int i = 0; i < 8; ++i) x[i] = ActivateSharedExpert(a.swiglu, x[i], up[i]);
    }
    uint32_t amax = 0;
#pragma unroll
    for (const float value : x) amax = MaxMagnitude(amax, value);
    amax = MaxOverLanes<4>(amax);
    constexpr hip::Quantizer kQuantizer = {.maximum = 224.0f, .smallest_code = 1};
    code = BlockCode(amax, kQuantizer);
    const BlockEncoder<ElementFormat::kE4m3Fnuz> encode(code, kQuantizer);
    bytes = {encode.Four(x[0], x[1], x[2], x[3]), encode.Four(x[4], x[5], x[6], x[7])};
    if (a.chunk_q != 0) {
      bytes = {__builtin_amdgcn_perm(bytes[1], bytes[0], 0x06040200),
               __builtin_amdgcn_perm(bytes[1], bytes[0], 0x07050301)};
    }
  }
  uint8_t* elements = a.elements + first_token * padded_k;
  uint8_t* codes = a.codes + first_token * (padded_k / 32);
  const uint32_t half = block % kStepBlocks / 2;
  *reinterpret_cast<Uint2*>(elements + ActivationOffset(step, half, chunk % 4, in_pass, tokens) +
                            8 * (block % 2)) = bytes;
  if (chunk % 4 == 0) {
    codes[(step * tokens + in_pass) * kStepBlocks + block % kStepBlocks] =
        static_cast<uint8_t>(code);
  }
}

// ---- DenseGemv ----

__device__ long BlockOf(Uint4 half, uint32_t block) {
  const Uint2 pair = block % 2 == 0 ? half.xy : half.zw;
  return __builtin_bit_cast(long, pair);
}

// One lane's operands of a step.
struct Step {
  Uint4 w[2];
  Uint4 x[2];
  uint32_t x_codes;  // of the lane's token, four blocks
};

// Joins the step's four blocks, ascending.
__device__ Float4 AddStep(Float4 acc, const Step& step, uint32_t w_codes) {
  Float4 dots[kStepBlocks];
#pragma unroll
  for (uint32_t b = 0; b < kStepBlocks; ++b) {
    dots[b] = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(
        BlockOf(step.w[b / 2], b), BlockOf(step.x[b / 2], b), Float4{0, 0, 0, 0}, 0, 0, 0);
  }
  if (AllLanes(AreOrdinary(w_codes, step.x_codes))) {
#pragma unroll
    for (uint32_t b = 0; b < kStepBlocks; ++b) {
      acc = ScaleAdd(acc, dots[b], OrdinaryFactor(ByteOf(w_codes, b) + ByteOf(step.x_codes, b)));
    }
  } else {
#pragma unroll
    for (uint32_t b = 0; b < kStepBlocks; ++b) {
      acc = ScaleAdd(acc, dots[b], FactorOf(ByteOf(w_codes, b), ByteOf(step.x_codes, b)));
    }
  }
  return acc;
}

// A wave's part of K: steps first, first + stride, ..., `count` of them.
struct WaveSteps {
  uint32_t first;
  uint32_t stride;
  uint32_t count;

  // One past the last. Ranges end there, so that what is loaded ahead is not what others load.
  __device__ uint32_t End() const { return count == 0 ? 0 : first + (count - 1) * stride + 1; }
};

// The wave's sums of a tile of 16 rows by 16 tokens: rows 4 (lane / 16) .. + 4, token lane % 16.
__device__ Float4 WaveSums(const Range& w, const Range& w_codes, const Range& x,
                           const Range& x_codes, WaveSteps steps, uint32_t tokens) {
  const uint32_t lane = LaneId();
  // Columns past the tokens repeat the last one, whose lines are there already.
  const uint32_t token = lane % 16 < tokens ? lane % 16 : tokens - 1;
  const uint32_t x_lane = ActivationOffset(0, 0, lane / 16, token, tokens);

  const auto load = [&](uint32_t i) {
    const uint32_t at = steps.first + i * steps.stride;
    Step step;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      step.w[half] = w.Load16<Range::kStreamed>(Weight::Offset<uint32_t>(lane, {at, half}));
      step.x[half] = x.Load16<Range::kCached>(x_lane + (2 * at + half) * (64 * tokens));
    }
    step.x_codes = x_codes.Load4(4 * (at * tokens + token));
    // Loads come back in order, so a step waits for those before its own: keep them in order.
    __builtin_amdgcn_sched_barrier(0);
    return step;
  };

  Float4 acc = {0, 0, 0, 0};
  // 64 steps at a time, because a lane keeps the weight's codes of one. (Past 64, K of 65536 and
  // more, what was loaded ahead is loaded again.)
  for (uint32_t base = 0; base < steps.count; base += kWaveSize) {
    const uint32_t codes = w_codes.Load4(4 * (steps.first + (base + lane) * steps.stride));
    const auto add = [&](const Step& step, uint32_t i) {
      acc = AddStep(acc, step,
                    static_cast<uint32_t>(
                        __builtin_amdgcn_readlane(static_cast<int>(codes), static_cast<int>(i))));
    };
    const uint32_t count = steps.count - base < kWaveSize ? steps.count - base : kWaveSize;
    __builtin_amdgcn_sched_barrier(0);
    Step ring[kDepth];
#pragma unroll
    for (uint32_t slot = 0; slot < kDepth; ++slot) ring[slot] = load(base + slot);
    // Whole rounds in a loop with one exit, so that the compiler knows at each step how many loads
    // are behind the awaited one.
    uint32_t i = 0;
    for (; i + kDepth <= count; i += kDepth) {
#pragma unroll
      for (uint32_t slot = 0; slot < kDepth; ++slot) {
        add(ring[slot], i + slot);
        ring[slot] = load(base + i + slot + kDepth);
      }
    }
    static_assert(kDepth == 4, "the steps after the last whole round");
    if (i < count) {
      add(ring[0], i);
      if (i + 1 < count) {
        add(ring[1], i + 1);
        if (i + 2 < count) add(ring[2], i + 2);
      }
    }
  }
  return acc;
}

// Where the sum of a token and row is in a wave's part of LDS, in floats. Rows stay in fours; the
// fours change places so that neither writing them nor reading single rows meets a bank twice.
__device__ uint32_t SumOffset(uint32_t token, uint32_t row) {
  return 4 * (4 * token + (row / 4 ^ token / 2 % 4)) + row % 4;
}

__device__ void Store(const DenseGemvArguments& a, uint64_t at, float sum) {
  if (a.bf16_out != 0) {
    static_cast<uint16_t*>(a.out)[at] = Bf16Of(sum);
  } else {
    static_cast<float*>(a.out)[at] = sum;
  }
}

// Workgroups: x: kTiles tiles of a group, y: groups, z: splits of K. kWaves waves share a tile.
template <uint32_t kWaves>
__device__ void DenseGemv(const DenseGemvArguments& a) {
  constexpr uint32_t kTiles = 8 / kWaves;
  constexpr uint32_t kSums = kTileRows * kPassTokens;
  __shared__ float sums[kTiles][kWaves][kSums];

  const uint32_t item = threadIdx.x;
  const uint32_t wave = Uniform(item / kWaveSize);
  const uint32_t in_group = blockIdx.x * kTiles + wave / kWaves;
  const bool has_tile = in_group < a.tiles;
  const uint32_t tile = blockIdx.y * a.tiles + in_group;

  // The wave's steps within the workgroup's run of K.
  const uint32_t begin = blockIdx.z * a.steps_per_split;
  const uint32_t left = begin < a.steps ? a.steps - begin : 0;
  const uint32_t run = left < a.steps_per_split ? left : a.steps_per_split;
  const uint32_t member = wave % kWaves;
  const uint32_t each = (run + kWaves - 1) / kWaves;
  const uint32_t skipped = a.contiguous != 0 ? member * each : member;
  const uint32_t mine = skipped < run ? run - skipped : 0;
  WaveSteps steps = {begin + skipped, 1, mine < each ? mine : each};
  if (a.contiguous == 0) steps = {begin + skipped, kWaves, (mine + kWaves - 1) / kWaves};

  const uint32_t padded_k = a.steps * kStepColumns;
  for (uint32_t pass = 0; pass * kPassTokens < a.tokens; ++pass) {
    const uint32_t tokens = TokensOfPass(a.tokens, pass);
    const uint64_t first_token = uint64_t{blockIdx.y} * a.tokens + pass * kPassTokens;
    if (has_tile) {
      const uint32_t end = steps.End();
      const Range w(a.w + uint64_t{tile} * (kTileRows * padded_k), end * kStepBytes);
      const Range w_codes(a.w_codes + uint64_t{tile / 2} * (padded_k / 32), end * kStepBlocks);
      const Range x(a.elements + first_token * padded_k, end * (kStepColumns * tokens));
      const Range x_codes(a.codes + first_token * (padded_k / 32), end * (kStepBlocks * tokens));
      const Float4 acc = WaveSums(w, w_codes, x, x_codes, steps, tokens);
      const uint32_t lane = LaneId();
      *reinterpret_cast<Float4*>(
          &sums[wave / kWaves][member][SumOffset(lane % 16, lane / 16 * 4)]) = acc;
    }
    __syncthreads();
    // A work-item adds up one row's waves for one token; rows run along the lanes.
    const uint32_t which = item / kSums;
    const uint32_t token = item % kSums / kTileRows;
    const uint32_t row = item % kTileRows;
    const uint32_t summed = blockIdx.x * kTiles + which;
    if (which < kTiles && summed < a.tiles && token < tokens) {
      float sum = 0;
#pragma unroll
      for (uint32_t i = 0; i < kWaves; ++i) sum += sums[which][i][SumOffset(token, row)];
      const uint64_t n = uint64_t{blockIdx.y * a.tiles + summed} * kTileRows + row;
      const uint64_t m = pass * kPassTokens + token;
      if (a.partials != nullptr) {
        a.partials[(uint64_t{blockIdx.z} * a.tokens + m) * a.n + n] = sum;
      } else {
        Store(a, m * a.out_stride + n, sum);
      }
    }
    __syncthreads();
  }
}

// ---- CombineSplits ----

// Work-items: x: rows of the weight, y: tokens.
__device__ void CombineSplits(const DenseGemvArguments& a) {
  const uint32_t n = blockIdx.x * 256 + threadIdx.x;
  if (n >= a.n) return;
  const uint64_t at = uint64_t{blockIdx.y} * a.n + n;
  const uint64_t split_size = uint64_t{a.tokens} * a.n;
  float sum = a.partials[at];
  for (uint32_t split = 1; split < a.splits; ++split) sum += a.partials[split * split_size + at];
  Store(a, blockIdx.y * a.out_stride + n, sum);
}

}  // namespace
}  // namespace lanewise::device

extern "C" __global__ void __launch_bounds__(256)
    QuantizeActivations(lanewise::hip::gfx942::DenseGemvArguments arguments) {
  lanewise::device::QuantizeActivations<false>(arguments);
}
extern "C" __global__ void __launch_bounds__(256)
    QuantizeGated(lanewise::hip::gfx942::DenseGemvArguments arguments) {
  lanewise::device::QuantizeActivations<true>(arguments);
}
extern "C" __global__ void __launch_bounds__(512)
    DenseGemv8(lanewise::hip::gfx942::DenseGemvArguments arguments) {
  lanewise::device::DenseGemv<8>(arguments);
}
extern "C" __global__ void __launch_bounds__(512)
    DenseGemv4(lanewise::hip::gfx942::DenseGemvArguments arguments) {
  lanewise::device::DenseGemv<4>(arguments);
}
extern "C" __global__ void __launch_bounds__(256)
    CombineSplits(lanewise::hip::gfx942::DenseGemvArguments arguments) {
  lanewise::device::CombineSplits(arguments);
}
