// Sums of absolute differences and other arithmetic on the bytes of a word.

#include <algorithm>
#include <cstdint>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {
namespace {

constexpr uint32_t Byte(uint64_t word, int index) { return (word >> (8 * index)) & 0xff; }
constexpr uint32_t Distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

uint32_t ByteDistances(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += Distance(Byte(a, i), Byte(b, i));
  return sum;
}
// Bytes that are 0 in the reference b do not count.
uint32_t MaskedByteDistances(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += Byte(b, i) == 0 ? 0 : Distance(Byte(a, i), Byte(b, i));
  return sum;
}
uint32_t HalfDistances(uint32_t a, uint32_t b) {
  return Distance(a & 0xffff, b & 0xffff) + Distance(a >> 16, b >> 16);
}

uint32_t AddClamped(uint32_t a, uint32_t b) { return a + b < a ? 0xffffffffu : a + b; }

template <uint32_t (*kDistance)(uint32_t, uint32_t)>
uint32_t Sum(uint32_t a, uint32_t b, uint32_t c) {
  return kDistance(a, b) + c;
}
template <uint32_t (*kDistance)(uint32_t, uint32_t)>
uint32_t SumClamped(uint32_t a, uint32_t b, uint32_t c) {
  return AddClamped(kDistance(a, b), c);
}
uint32_t SumHigh(uint32_t a, uint32_t b, uint32_t c) { return (ByteDistances(a, b) << 16) + c; }
uint32_t SumHighClamped(uint32_t a, uint32_t b, uint32_t c) {
  return AddClamped(ByteDistances(a, b) << 16, c);
}

// The average of each pair of bytes; bit 0 of c's byte rounds it up.
uint32_t Average(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= ((Byte(a, i) + Byte(b, i) + (Byte(c, i) & 1)) >> 1) << (8 * i);
  }
  return result;
}

// Four sums over a window that slides by one byte through the 8 bytes of a; 16 bits each.
template <uint32_t (*kDistance)(uint32_t, uint32_t), bool kClamp>
uint64_t FourSums16(uint64_t a, uint32_t b, uint64_t c) {
  uint64_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const auto window = static_cast<uint32_t>(a >> (8 * i));
    const uint64_t sum = kDistance(window, b) + ((c >> (16 * i)) & 0xffff);
    result |= (kClamp ? std::min<uint64_t>(sum, 0xffff) : sum & 0xffff) << (16 * i);
  }
  return result;
}

// The same with 32-bit sums: the third source and the result have four registers.
void MaskedFourSums32(Wave& wave, const Instruction& inst) {
  LaneScratch windows, reference;
  const LaneRows a = FetchRows(wave, inst, 0, LaneType::kU64, windows);
  const LaneRows b = FetchRows(wave, inst, 1, LaneType::kU32, reference);
  uint32_t result[4][kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t bytes = static_cast<uint64_t>(a.hi[lane]) << 32 | a.lo[lane];
    for (int i = 0; i < 4; ++i) {
      const uint32_t sum = MaskedByteDistances(static_cast<uint32_t>(bytes >> (8 * i)), b.lo[lane]);
      const uint32_t old = inst.src[2].is_vector() ? wave.vector[inst.src[2].index + i][lane]
                                                   : wave.Read32(inst.src[2]);
      result[i][lane] = inst.mod.clamp ? AddClamped(sum, old) : sum + old;
    }
  }
  const uint64_t exec = wave.exec();
  for (int lane = 0; lane < kLanes; ++lane) {
    if (((exec >> lane) & 1) == 0) continue;
    for (int i = 0; i < 4; ++i) wave.vector[inst.dst[0].index + i][lane] = result[i][lane];
  }
}

}  // namespace

void RegisterByteSums(Arch /*arch*/, HandlerTable& table) {
  table.Add("v_sad_u8", ClampedOp<Sum<ByteDistances>, SumClamped<ByteDistances>>);
  table.Add("v_msad_u8", ClampedOp<Sum<MaskedByteDistances>, SumClamped<MaskedByteDistances>>);
  table.Add("v_sad_u16", ClampedOp<Sum<HalfDistances>, SumClamped<HalfDistances>>);
  table.Add("v_sad_u32", ClampedOp<Sum<Distance>, SumClamped<Distance>>);
  table.Add("v_sad_hi_u8", ClampedOp<SumHigh, SumHighClamped>);
  table.Add("v_lerp_u8", VectorOp<Average>);
  table.Add("v_qsad_pk_u16_u8",
            ClampedOp<FourSums16<ByteDistances, false>, FourSums16<ByteDistances, true>>);
  table.Add(
      "v_mqsad_pk_u16_u8",
      ClampedOp<FourSums16<MaskedByteDistances, false>, FourSums16<MaskedByteDistances, true>>);
  table.Add("v_mqsad_u32_u8", MaskedFourSums32);
}

}  // namespace lanewise::emulator
