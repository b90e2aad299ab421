// The first half of the routed experts: moe_up_gate.h says what it computes.
//
// Two kernels in the order of their launches:
//   MoePrepare   workgroup 0 groups the picks by expert; the others quantize x
//   MoeUpGate    32 intermediate columns of an expert, all of its picks, 16 a pass

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
using hip::gfx942::kMoeGroupColumns;
using hip::gfx942::kMoePassPicks;
using hip::gfx942::kMoeTileRows;
using hip::gfx942::MoeUpGateArguments;
using hip::gfx942::PickGroup;

constexpr uint32_t kItems = 256;
constexpr uint32_t kTiles = 2;   // of a wave: 16 columns' gate and up rows
constexpr uint32_t kHalves = 2;  // of a workgroup's columns
constexpr uint32_t kSlices = 2;  // of K
constexpr uint32_t kDepth = 2;   // rounds in flight: 4 KiB of weights each a wave
static_assert(kHalves * kSlices * kWaveSize == kItems);
static_assert(kHalves * kTiles * kMoeTileRows == 2 * kMoeGroupColumns);

// The weight and its codes as the catalogue says that lanes load them, from a tile's first byte:
// {step}, and {round, half}, of which each is the codes of two of the lane group's rows.
using Weight = LaneIndex<CatalogueLayout("gfx942/fp4_tile_major").lane_pattern()>;
using WeightCodes = LaneIndex<
    CatalogueLayout("gfx942/codes_tile_rounds").WithParameter("blocks", 8).lane_pattern()>;
static_assert(Weight::kLanes == kWaveSize && Weight::kLoadBytes == sizeof(Uint4));
static_assert(Weight::kIsWithoutGap && Weight::kWaveLoadBytes == 1024);
static_assert(WeightCodes::kLanes == kWaveSize && WeightCodes::kLoadBytes == sizeof(Uint4));
static_assert(WeightCodes::LinesPerLoad() == 1);

// ---- MoePrepare ----

// For each work-item its value added up with those before it, less its own; the sum of all in
// `total`. Both halves of the result are sums of their own. Called by all of the workgroup.
__device__ Uint2 SumBefore(Uint2 value, Uint2* total) {
  __shared__ Uint2 sums[kItems];
  const uint32_t item = threadIdx.x;
  Uint2 sum = value;
#pragma unroll 1
  for (uint32_t distance = 1; distance < kItems; distance *= 2) {
    __syncthreads();
    sums[item] = sum;
    __syncthreads();
    if (item >= distance) sum += sums[item - distance];
  }
  __syncthreads();
  sums[item] = sum;
  __syncthreads();
  *total = sums[kItems - 1];
  return sum - value;
}

// Workgroup 0. A work-item looks for the picks of one expert, 256 experts at a time.
__device__ void GroupPicks(const MoeUpGateArguments& a) {
  __shared__ uint32_t chosen[kItems];
  const uint32_t item = threadIdx.x;
  auto* const header = reinterpret_cast<uint32_t*>(a.grouping);
  auto* const groups = reinterpret_cast<PickGroup*>(a.grouping + kGroupingHeaderBytes);
  auto* const order = reinterpret_cast<uint32_t*>(groups + a.most_groups);

  // Calls visit(pick) for the picks of `expert`, ascending. Experts are counted from the first that
  // is here; an index before it is a large number then, and none has the experts past the last.
  uint32_t skipped = 0;
  bool first_visit = true;
  const auto for_picks_of = [&](uint32_t expert, auto visit) {
#pragma unroll 1
    for (uint32_t base = 0; base < a.picks; base += kItems) {
      if (first_visit || a.picks > kItems) {
        __syncthreads();
        const uint32_t pick = base + item;
        const uint32_t index = pick < a.picks ? static_cast<uint32_t>(a.experts[pick]) : 0;
        chosen[item] = pick < a.picks ? index - a.first_expert : ~0u;
        if (first_visit && index >= a.layer_experts) ++skipped;
        __syncthreads();
      }
      const uint32_t left = a.picks - base;
      const uint32_t end = left < kItems ? left : kItems;
#pragma unroll 1
      for (uint32_t i = 0; i < end; ++i) {
        if (chosen[i] == expert) visit(base + i);
      }
    }
    first_visit = false;
  };

  Uint2 before = {0, 0};  // picks and groups of the experts before these 256
#pragma unroll 1
  for (uint32_t base = 0; base < a.expert_count; base += kItems) {
    const uint32_t expert = base + item < a.expert_count ? base + item : a.expert_count;
    const bool is_expert = base + item < a.expert_count;
    uint32_t count = 0;
    for_picks_of(expert, [&](uint32_t) { ++count; });
    if (!is_expert) count = 0;
    Uint2 total;
    const Uint2 at = before + SumBefore(Uint2{count, count > 0 ? 1u : 0u}, &total);
    if (count > 0) groups[at.y] = {expert, at.x, count, 0};
    uint32_t place = at.x;
    for_picks_of(expert, [&](uint32_t pick) {
      if (is_expert) order[place++] = pick;
    });
    before += total;
  }
  if (item == 0) header[0] = before.y;
  if (a.status != nullptr && skipped > 0) atomicAdd(a.status, skipped);
}

// Work-items of the other workgroups: groups of 8 columns of the padded K, token by token.
__device__ void QuantizeTokens(const MoeUpGateArguments& a) {
  const uint32_t chunks = a.padded_hidden / 8;
  const uint32_t at = (blockIdx.x - 1) * kItems + threadIdx.x;
  const uint32_t token = at / chunks;
  if (token >= a.tokens) return;
  const uint32_t chunk = at - token * chunks;
  float x[8] = {};
  if (8 * chunk < a.hidden) LoadBf16(a.x + uint64_t{token} * a.hidden + 8 * chunk, x);
  // The four lanes of a block lie together, and a token's chunks are whole waves' quarters.
  const QuantizedChunk quantized = QuantizeChunk(x);
  *reinterpret_cast<Uint2*>(a.elements + uint64_t{token} * a.padded_hidden + ChunkOffset(chunk)) =
      quantized.bytes;
  uint8_t* const codes = a.elements + uint64_t{a.tokens} * a.padded_hidden;
  if (chunk % 4 == 0) {
    codes[uint64_t{token} * (a.padded_hidden / 32) + chunk / 4] =
        static_cast<uint8_t>(quantized.code);
  }
}

// ---- MoeUpGate ----

// swiglu.h's y, rounded to bf16.
__device__ float Activated(const Swiglu& swiglu, float gate, float up) {
  if (gate != gate || up != up) return __builtin_nanf("");
  const float g = swiglu.limit < gate ? swiglu.limit : gate;
  const float u = up < -swiglu.limit ? -swiglu.limit : swiglu.limit < up ? swiglu.limit : up;
  const float t = swiglu.alpha * g;
  const float exp2 = __builtin_amdgcn_exp2f(-t * FloatOf(0x3FB8AA3B));
  return RoundedToBf16(g * __builtin_amdgcn_rcpf(1.0f + exp2) * (u + swiglu.up_offset));
}

// One lane's operands of 256 K.
struct Round {
  Uint4 w[kTiles][2];        // by step
  Uint4 w_codes[kTiles][2];  // rows 4 j and 4 j + 1, then the other two: 8 codes each
  StepActivation x[2];
  Uint2 x_codes;
};

// A wave's part of a pass: two tiles by one slice of K. Results: rows 4 j .. + 4 of each tile, the
// pick of lane % 16.
struct WaveTiles {
  Range w;        // of both tiles, one behind the other
  Range w_codes;  // likewise
  Range x;        // elements and codes: one resource saves scalar registers
  uint32_t x_codes_offset;
  uint32_t first_step, last_step;

  // `row` is the lane's token.
  __device__ void Sums(uint32_t row, uint32_t padded_hidden, Float4 (&acc)[kTiles]) const {
    const uint32_t lane = LaneId();
    const uint32_t group = lane / 16;
    const uint32_t x_at = row * padded_hidden + 32 * group;
    const uint32_t x_codes_at = x_codes_offset + row * (padded_hidden / 32);
    const uint32_t tile_bytes = kMoeTileRows / 2 * padded_hidden;
    const uint32_t tile_codes = padded_hidden / 32 * kMoeTileRows;
    const uint32_t last_round = (last_step + 1) / 2;

    const auto load = [&](uint32_t index) {
      Round round;
      const bool is_there = index < last_round;
#pragma unroll
      for (uint32_t s = 0; s < 2; ++s) {
        // Steps of the other slice are not fetched, nor used.
        const uint32_t step = 2 * index + s;
        const bool is_mine = step >= first_step && step < last_step;
#pragma unroll
        for (uint32_t t = 0; t < kTiles; ++t) {
          round.w[t][s] = w.Load16<Range::kStreamed>(
              is_mine ? t * tile_bytes + Weight::Offset<uint32_t>(lane, {step}) : Range::kNowhere);
        }
#pragma unroll
        for (uint32_t h = 0; h < 2; ++h) {
          round.x[s].half[h] = x.Load16<Range::kCached>(
              is_mine ? x_at + step * kStepColumns + 16 * h : Range::kNowhere);
        }
      }
#pragma unroll
      for (uint32_t t = 0; t < kTiles; ++t) {
#pragma unroll
        for (uint32_t i = 0; i < 2; ++i) {
          round.w_codes[t][i] = w_codes.Load16<Range::kCached>(
              is_there ? t * tile_codes + WeightCodes::Offset<uint32_t>(lane, {index, i})
                       : Range::kNowhere);
        }
      }
      round.x_codes = x.Load8<Range::kCached>(is_there ? x_codes_at + 8 * index : Range::kNowhere);
      // Loads come back in order, so a round waits for those before its own: keep them in order.
      __builtin_amdgcn_sched_barrier(0);
      return round;
    };
    const auto add = [&](const Round& round, uint32_t index) {
#pragma unroll
      for (uint32_t s = 0; s < 2; ++s) {
        const uint32_t step = 2 * index + s;
        if (step < first_step || step >= last_step) continue;
#pragma unroll
        for (uint32_t t = 0; t < kTiles; ++t) {
          const Uint4 v = round.w[t][s];
          const uint32_t packed[4] = {v.x, v.y, v.z, v.w};
          const Uint4* const codes = round.w_codes[t];
          const uint32_t of_rows[4] = {codes[0][s], codes[0][2 + s], codes[1][s], codes[1][2 + s]};
          acc[t] = AddFp4Step<kStepBlocks>(acc[t], packed, round.x[s], of_rows, round.x_codes[s]);
        }
      }
    };

    Round ring[kDepth];
    uint32_t index = first_step / 2;
#pragma unroll
    for (uint32_t i = 0; i < kDepth; ++i) ring[i] = load(index + i);
    while (true) {
#pragma unroll
      for (uint32_t slot = 0; slot < kDepth; ++slot) {
        add(ring[slot], index);
        if (++index == last_round) return;
        ring[slot] = load(index - 1 + kDepth);
      }
    }
  }
};

// Floats between a pick's activated columns and the next one's: two lanes of a group of 16 never
// meet in a bank, neither storing pairs of columns nor loading them.
constexpr uint32_t kActivatedStride = kMoeGroupColumns + 2;
typedef float Float2 __attribute__((ext_vector_type(2)));

// The kernel's arguments once more, to be loaded where they are read. Left to itself the compiler
// loads all of them at the beginning and keeps them through the loop over K, which leaves it short
// of scalar registers.
typedef const __attribute__((address_space(4))) MoeUpGateArguments LateArguments;
__device__ inline LateArguments& Late() {
  // No C++ cast leads from the built-in's address space to the same one by its number.
  auto* arguments = (LateArguments*)__builtin_amdgcn_kernarg_segment_ptr();
  asm volatile("" : "+s"(arguments));
  return *arguments;
}

// Workgroups: x: 32 intermediate columns, y: groups of picks.
__device__ void MoeUpGate(const MoeUpGateArguments& a) {
  __shared__ Float4 other_slice[kHalves][kTiles][kWaveSize];
  __shared__ Float2 activated[kMoePassPicks * kActivatedStride / 2];

  const uint32_t group_count = *reinterpret_cast<const uint32_t*>(a.grouping);
  if (blockIdx.y >= group_count) return;
  const auto* const groups = reinterpret_cast<const PickGroup*>(a.grouping + kGroupingHeaderBytes);
  const auto* const order = reinterpret_cast<const uint32_t*>(groups + a.most_groups);
  const PickGroup group = groups[blockIdx.y];

  const uint32_t item = threadIdx.x;
  const uint32_t lane = LaneId();
  const uint32_t wave = Uniform(item / kWaveSize);
  const uint32_t half = wave % kHalves;
  const uint32_t slice = wave / kHalves;

  const uint32_t steps_per_slice = a.padded_hidden / kStepColumns / kSlices;
  const uint32_t tile_bytes = kMoeTileRows / 2 * a.padded_hidden;
  const uint32_t tile_codes = kMoeTileRows * (a.padded_hidden / 32);
  const uint64_t tile = uint64_t{group.expert} * (2 * a.padded_inter / kMoeTileRows) +
                        kTiles * (kHalves * blockIdx.x + half);
  const uint8_t* const w = a.w13 + tile * tile_bytes;
  const uint8_t* const w_codes = a.w13_codes + tile * tile_codes;
  const WaveTiles tiles = {Range(w, kTiles * tile_bytes),
                           Range(w_codes, kTiles * tile_codes),
                           Range(a.elements, a.tokens * (a.padded_hidden + a.padded_hidden / 32)),
                           a.tokens * a.padded_hidden,
                           slice * steps_per_slice,
                           (slice + 1) * steps_per_slice};

  const uint32_t mid_bytes = (a.padded_inter + kStepColumns - 1) / kStepColumns * kStepColumns;
#pragma unroll 1
  for (uint32_t pass = 0; pass < group.count; pass += kMoePassPicks) {
    const uint32_t left = group.count - pass;
    const uint32_t picks = left < kMoePassPicks ? left : kMoePassPicks;
    // Columns past the picks repeat the last one, whose lines are there already.
    const uint32_t in_pass = lane % 16 < picks ? lane % 16 : picks - 1;
    const uint32_t token = order[group.first + pass + in_pass] / a.top_k;
    Float4 acc[kTiles] = {};
    tiles.Sums(token, a.padded_hidden, acc);

    if (slice == 1) {
#pragma unroll
      for (uint32_t t = 0; t < kTiles; ++t) other_slice[half][t][lane] = acc[t];
    }
    __syncthreads();
    LateArguments& late = Late();
    if (slice == 0) {
      const Swiglu swiglu = {late.swiglu.limit, late.swiglu.alpha, late.swiglu.up_offset};
      const auto* const biases = late.bias;
      const uint64_t bias_stride = late.bias_stride;
      const uint32_t inter = late.inter;
#pragma unroll
      for (uint32_t t = 0; t < kTiles; ++t) {
        Float4 sum = acc[t] + other_slice[half][t][lane];
        // Rows 2 i and 2 i + 1 of the copy are column i's gate and up.
        const uint32_t column = 16 * half + 8 * t + 2 * (lane / 16);
        if (biases != nullptr) {
          const uint32_t first = kMoeGroupColumns * blockIdx.x + column;
          const auto* const bias =
              reinterpret_cast<const uint32_t*>(biases + group.expert * bias_stride + 2 * first);
          // inter is even, and the padding has no bias.
          if (first < inter) {
            sum += Float4{LowBf16(bias[0]), HighBf16(bias[0]), LowBf16(bias[1]), HighBf16(bias[1])};
          }
        }
        activated[(lane % 16 * kActivatedStride + column) / 2] = {
            Activated(swiglu, sum[0], sum[1]), Activated(swiglu, sum[2], sum[3])};
      }
    }
    __syncthreads();
    if (wave == 0) {
      const uint32_t which = lane / 4;
      float y[8];
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        const Float2 pair = activated[which * (kActivatedStride / 2) + 4 * (lane % 4) + i];
        y[2 * i] = pair.x;
        y[2 * i + 1] = pair.y;
      }
      const QuantizedChunk quantized = QuantizeChunk(y);
      if (which < picks) {
        const uint32_t pick = order[group.first + pass + which];
        *reinterpret_cast<Uint2*>(late.mid + uint64_t{pick} * mid_bytes +
                                  ChunkOffset(4 * blockIdx.x + lane % 4)) = quantized.bytes;
        if (lane % 4 == 0) {
          late.mid_codes[uint64_t{pick} * (mid_bytes / 32) + blockIdx.x] =
              static_cast<uint8_t>(quantized.code);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lanewise::device

extern "C" __global__ void __launch_bounds__(256)
    MoePrepare(lanewise::hip::gfx942::MoeUpGateArguments arguments) {
  if (blockIdx.x == 0) {
    lanewise::device::GroupPicks(arguments);
  } else {
    lanewise::device::QuantizeTokens(arguments);
  }
}
extern "C" __global__ void __launch_bounds__(256)
    MoeUpGate(lanewise::hip::gfx942::MoeUpGateArguments arguments) {
  lanewise::device::MoeUpGate(arguments);
}
