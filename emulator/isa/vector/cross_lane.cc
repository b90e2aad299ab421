// Instructions that look across lanes without memory: single lanes to and from scalars, counts of
// lanes below, exchanges of rows.

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {
namespace {

// The lane whose value v_readfirstlane takes: the lowest active one, lane 0 if there is none.
int FirstLane(uint64_t exec) { return exec == 0 ? 0 : std::countr_zero(exec); }

uint32_t LaneOfSource(const Wave& wave, const Operand& source, int lane) {
  return source.is_vector() ? wave.vector[source.index][lane] : wave.Read32(source);
}

void ReadFirstLane(Wave& wave, const Instruction& inst) {
  wave.Write32(inst.dst[0], LaneOfSource(wave, inst.src[0], FirstLane(wave.exec())));
}

// EXEC does not matter to v_readlane and v_writelane; only 6 bits of the lane number count.
void ReadLane(Wave& wave, const Instruction& inst) {
  const int lane = static_cast<int>(wave.Read32(inst.src[1]) & (kLanes - 1));
  wave.Write32(inst.dst[0], LaneOfSource(wave, inst.src[0], lane));
}
void WriteLane(Wave& wave, const Instruction& inst) {
  const int lane = static_cast<int>(wave.Read32(inst.src[1]) & (kLanes - 1));
  wave.vector[inst.dst[0].index][lane] = wave.Read32(inst.src[0]);
}

// The bits of the mask (source 0, one half of it) below each lane's own, counted and added to
// source 1.
template <bool kHigh>
void CountLanesBelow(Wave& wave, const Instruction& inst) {
  LaneScratch scratch[2];
  const LaneRows mask = FetchRows(wave, inst, 0, LaneType::kU32, scratch[0]);
  const LaneRows sum = FetchRows(wave, inst, 1, LaneType::kU32, scratch[1]);
  LaneScratch result;
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t below = (uint64_t{1} << lane) - 1;
    const auto part = static_cast<uint32_t>(kHigh ? below >> 32 : below);
    result.lo[lane] = static_cast<uint32_t>(std::popcount(mask.lo[lane] & part)) + sum.lo[lane];
  }
  CommitRows(wave, inst, 0, LaneType::kU32, WriteMask(wave, inst), result);
}

void SwapRegisters(Wave& wave, const Instruction& inst) {
  uint32_t* const a = wave.vector[inst.dst[0].index];
  uint32_t* const b = wave.vector[inst.dst[1].index];
  const uint64_t exec = wave.exec();
  for (int lane = 0; lane < kLanes; ++lane) {
    if (((exec >> lane) & 1) != 0) std::swap(a[lane], b[lane]);
  }
}

// Groups of kGroup lanes: the odd groups of the first register change places with the even groups
// of the second. A lane that is off keeps its value. One that would receive the value of a lane
// that is off keeps its own, gets 0 with bound_ctrl, or that lane's value with fi (which stands for
// "fetch inactive").
template <int kGroup>
void SwapGroups(Wave& wave, const Instruction& inst) {
  uint32_t* const first = wave.vector[inst.dst[0].index];
  uint32_t* const second = wave.vector[inst.dst[1].index];
  const bool fetch_inactive = (inst.mod.op_sel & 1) != 0;
  const bool bound_ctrl = (inst.mod.op_sel & 2) != 0;
  const uint64_t exec = wave.exec();
  const auto active = [exec](int lane) { return ((exec >> lane) & 1) != 0; };
  const auto receive = [&](uint32_t& to, int to_lane, uint32_t value, int from_lane) {
    if (!active(to_lane)) return;
    if (active(from_lane) || fetch_inactive) {
      to = value;
    } else if (bound_ctrl) {
      to = 0;
    }
  };
  for (int even = 0; even < kLanes; ++even) {
    if ((even / kGroup) % 2 != 0) continue;
    const int odd = even + kGroup;
    const uint32_t of_first = first[odd];
    const uint32_t of_second = second[even];
    receive(first[odd], odd, of_second, even);
    receive(second[even], even, of_first, odd);
  }
}

}  // namespace

void RegisterCrossLane(Arch arch, HandlerTable& table) {
  constexpr InstructionClass kCrossLane = InstructionClass::kCrossLane;
  table.Add(
      "v_readfirstlane_b32", ReadFirstLane,
      {.klass = kCrossLane, .undefined = UndefinedRule::kCopies, .lanes = LaneRule::kFirstRead});
  table.Add(
      "v_readlane_b32", ReadLane,
      {.klass = kCrossLane, .undefined = UndefinedRule::kCopies, .lanes = LaneRule::kOneRead});
  table.Add(
      "v_writelane_b32", WriteLane,
      {.klass = kCrossLane, .undefined = UndefinedRule::kCopies, .lanes = LaneRule::kOneWritten});
  table.Add("v_mbcnt_lo_u32_b32", CountLanesBelow<false>);
  table.Add("v_mbcnt_hi_u32_b32", CountLanesBelow<true>);
  table.Add("v_swap_b32", SwapRegisters, {.undefined = UndefinedRule::kCopies});
  if (arch == Arch::kGfx950) {
    table.Add("v_permlane16_swap_b32", SwapGroups<16>, {.klass = kCrossLane});
    table.Add("v_permlane32_swap_b32", SwapGroups<32>, {.klass = kCrossLane});
  }
}

}  // namespace lanewise::emulator
