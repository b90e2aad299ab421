// The second half of the routed experts: moe_down.h says what it computes.
//
// Two kernels in the order of their launches:
//   MoeDown   a wave takes 16 hidden rows of an expert by all of its picks, 16 a pass
//   MoeSum    a token's contributions in their order, and the shared expert

#include <cstdint>
#include <cstdlib>  // before <span>: the compiler's <new> needs malloc

#include "hip/device.h"
#include "hip/gfx942/moe_arguments.h"
#include "hip/gfx942/moe_device.h"
#include "layouts/catalogue.h"
#include "layouts/lane_index.h"

namespace lanewise::device {
namespace {

using hip::gfx942::kGroupingHeaderBytes;
using hip::gfx942::kMoePassPicks;
using hip::gfx942::kMoeTileRows;
using hip::gfx942::MoeDownArguments;
using hip::gfx942::PickGroup;

constexpr uint32_t kWaves = 4;
constexpr uint32_t kDepth = 4;       // steps in flight: 1 KiB of weights each a wave
constexpr uint32_t kTailBlocks = 2;  // of a last half step

// The weight as the catalogue says that lanes load it: {step} from the tile's first byte, and
// behind the whole steps the last half one.
using Weight = LaneIndex<CatalogueLayout("gfx942/fp4_tile_major").lane_pattern()>;
using LastHalf = LaneIndex<CatalogueLayout("gfx942/fp4_tile_major").remainder_lane_pattern()>;
static_assert(Weight::kLanes == kWaveSize && Weight::kLoadBytes == sizeof(Uint4));
static_assert(Weight::kIsWithoutGap && Weight::kWaveLoadBytes == 1024);
static_assert(LastHalf::kLoadBytes == kTailBlocks * 4 && LastHalf::kIsWithoutGap);

// One lane's operands of a step.
struct Step {
  Uint4 w;
  StepActivation x;
  uint32_t w_codes[4];  // of rows 4 j + q: dwords that hold the step's codes, or their second half
  uint32_t x_codes;
};

// Workgroups: x: four tiles of hidden rows, y: groups of picks. The waves have nothing in common.
__device__ void MoeDown(const MoeDownArguments& a) {
  const uint32_t lane = LaneId();
  const uint32_t tile = kWaves * blockIdx.x + Uniform(threadIdx.x / kWaveSize);
  const uint32_t group_count = *reinterpret_cast<const uint32_t*>(a.grouping);
  if (blockIdx.y >= group_count || tile >= a.hidden / kMoeTileRows) return;
  const auto* const groups = reinterpret_cast<const PickGroup*>(a.grouping + kGroupingHeaderBytes);
  const auto* const order = reinterpret_cast<const uint32_t*>(groups + a.most_groups);
  const PickGroup group = groups[blockIdx.y];

  const uint32_t row_codes = a.padded_inter / 32;
  const uint32_t tile_bytes = kMoeTileRows / 2 * a.padded_inter;
  const uint64_t at = uint64_t{group.expert} * (a.hidden / kMoeTileRows) + tile;
  const Range w(a.w2 + at * tile_bytes, tile_bytes);
  const Range w_codes(a.w2_codes + at * (kMoeTileRows * row_codes), kMoeTileRows * row_codes);
  const uint32_t whole_steps = a.padded_inter / kStepColumns;
  const bool has_tail = a.padded_inter % kStepColumns != 0;
  const uint32_t steps = whole_steps + (has_tail ? 1 : 0);

#pragma unroll 1
  for (uint32_t pass = 0; pass < group.count; pass += kMoePassPicks) {
    const uint32_t left = group.count - pass;
    const uint32_t picks = left < kMoePassPicks ? left : kMoePassPicks;
    // Columns past the picks repeat the last one, whose lines are there already.
    const uint32_t pick = order[group.first + pass + (lane % 16 < picks ? lane % 16 : picks - 1)];
    const uint8_t* const x = a.mid + uint64_t{pick} * (steps * kStepColumns) + 32 * (lane / 16);
    const uint8_t* const x_codes = a.mid_codes + uint64_t{pick} * (steps * kStepBlocks);

    const auto load = [&](uint32_t index) {
      Step step;
      step.w = w.Load16<Range::kStreamed>(
          index < whole_steps ? Weight::Offset<uint32_t>(lane, {index}) : Range::kNowhere);
      // Past the end the last step again: it is there.
      const uint32_t there = index < steps ? index : steps - 1;
#pragma unroll
      for (uint32_t h = 0; h < 2; ++h) {
        step.x.half[h] = *reinterpret_cast<const Uint4*>(x + there * kStepColumns + 16 * h);
      }
      step.x_codes = *reinterpret_cast<const uint32_t*>(x_codes + there * kStepBlocks);
      // A row's codes begin at any even byte, so the step's four lie in two dwords; past the end
      // are zeros.
#pragma unroll
      for (uint32_t q = 0; q < 4; ++q) {
        const uint32_t byte = (4 * (lane / 16) + q) * row_codes + kStepBlocks * there;
        const uint32_t low = w_codes.Load4(byte & ~3u);
        const uint32_t high = w_codes.Load4((byte & ~3u) + 4);
        step.w_codes[q] = __builtin_amdgcn_alignbyte(high, low, byte & 3);
      }
      return step;
    };

    Float4 acc = {0, 0, 0, 0};
    Step ring[kDepth];
#pragma unroll
    for (uint32_t i = 0; i < kDepth; ++i) ring[i] = load(i);
    Uint2 tail = {0, 0};
    if (has_tail) {
      tail = w.Load8<Range::kStreamed>(Weight::Offset<uint32_t>(0, {whole_steps}) +
                                       LastHalf::Offset<uint32_t>(lane));
    }
    for (uint32_t index = 0;;) {
#pragma unroll
      for (uint32_t slot = 0; slot < kDepth; ++slot) {
        const Step& step = ring[slot];
        if (index < whole_steps) {
          const uint32_t packed[kStepBlocks] = {step.w.x, step.w.y, step.w.z, step.w.w};
          acc = AddFp4Step<kStepBlocks>(acc, packed, step.x, step.w_codes, step.x_codes);
        } else {
          const uint32_t packed[kTailBlocks] = {tail.x, tail.y};
          acc = AddFp4Step<kTailBlocks>(acc, packed, step.x, step.w_codes, step.x_codes);
        }
        if (++index == steps) goto done;
        ring[slot] = load(index - 1 + kDepth);
      }
    }
  done:
    if (lane % 16 < picks) {
      const float weight = a.weights[pick];
      const uint32_t row = kMoeTileRows * tile + 4 * (lane / 16);
      if (a.bias != nullptr) {
        const Uint2 bias =
            *reinterpret_cast<const Uint2*>(a.bias + group.expert * a.bias_stride + row);
        acc += Float4{LowBf16(bias.x), HighBf16(bias.x), LowBf16(bias.y), HighBf16(bias.y)};
      }
      uint32_t bf16[4];
#pragma unroll
      for (uint32_t q = 0; q < 4; ++q) bf16[q] = Bf16Of(acc[q] * weight);
      *reinterpret_cast<Uint2*>(a.contributions + uint64_t{pick} * a.hidden + row) = {
          bf16[0] | bf16[1] << 16, bf16[2] | bf16[3] << 16};
    }
  }
}

// Work-items: x: groups of 8 hidden columns, y: tokens.
__device__ void MoeSum(const MoeDownArguments& a) {
  const uint32_t column = 8 * (blockIdx.x * 256 + threadIdx.x);
  const uint32_t token = blockIdx.y;
  if (column >= a.hidden) return;
  float sum[8] = {};
  const auto add = [&](const uint16_t* row) {
    float more[8];
    LoadBf16(row + column, more);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] = RoundedToBf16(sum[i] + more[i]);
  };
#pragma unroll 1
  for (uint32_t slot = 0; slot < a.top_k; ++slot) {
    const uint32_t pick = token * a.top_k + slot;
    // A pick of no expert that is here has no contribution.
    if (static_cast<uint32_t>(a.experts[pick]) - a.first_expert >= a.expert_count) continue;
    add(a.contributions + uint64_t{pick} * a.hidden);
  }
  if (a.shared != nullptr) add(a.shared + uint64_t{token} * a.hidden);
  Uint4 out;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    out[i] = uint32_t{Bf16Of(sum[2 * i])} | uint32_t{Bf16Of(sum[2 * i + 1])} << 16;
  }
  *reinterpret_cast<Uint4*>(a.out + uint64_t{token} * a.hidden + column) = out;
}

}  // namespace
}  // namespace lanewise::device

extern "C" __global__ void __launch_bounds__(256)
    MoeDown(lanewise::hip::gfx942::MoeDownArguments arguments) {
  lanewise::device::MoeDown(arguments);
}
extern "C" __global__ void __launch_bounds__(256)
    MoeSum(lanewise::hip::gfx942::MoeDownArguments arguments) {
  lanewise::device::MoeSum(arguments);
}
