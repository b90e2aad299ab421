// gfx950's conversions with a scale of 32 elements a lane: between float, half or bf16 and fp6 or
// bf6. All elements of an instruction use the same seed.

#include <cstdint>
#include <string>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/narrow/scaled_elements.h"
#include "emulator/isa/vector/vector_op.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

// Element i of 6 bits is at bits 6 i of six registers.

constexpr int kElements = 32;

// Element `index` of kBits bits in consecutive registers of one lane.
template <int kBits>
uint32_t Element(const uint32_t (*rows)[kLanes], int lane, int index) {
  const int bit = kBits * index;
  const uint32_t low = rows[bit / 32][lane] >> (bit % 32);
  const uint32_t high = bit % 32 + kBits > 32 ? rows[bit / 32 + 1][lane] << (32 - bit % 32) : 0;
  return kBits == 32 ? low : (low | high) & ((uint64_t{1} << kBits) - 1);
}

// The registers of a result, written at the end: they may be the sources'.
template <int kBits>
class Elements {
 public:
  static constexpr int kWords = kElements * kBits / 32;
  Elements() : words_{} {}
  void Set(int lane, int index, uint32_t value) {
    const int bit = kBits * index;
    words_[bit / 32][lane] |= value << (bit % 32);
    if (bit % 32 + kBits > 32) words_[bit / 32 + 1][lane] |= value >> (32 - bit % 32);
  }
  void Commit(Wave& wave, const Instruction& inst) const {
    const uint64_t exec = wave.exec();
    for (int word = 0; word < kWords; ++word) {
      for (int lane = 0; lane < kLanes; ++lane) {
        if (((exec >> lane) & 1) != 0) {
          wave.vector[inst.dst[0].index + word][lane] = words_[word][lane];
        }
      }
    }
  }

 private:
  uint32_t words_[kWords][kLanes];
};

template <class Narrow, class Wide>
void Up32(Wave& wave, const Instruction& inst) {
  LaneScratch scratch;
  const uint32_t* scale = FetchRows(wave, inst, 1, LaneType::kU32, scratch).lo;
  const auto* rows = &wave.vector[inst.src[0].index];
  Elements<Wide::kBits> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < kElements; ++i) {
      result.Set(lane, i, Up<Narrow, Wide>(Element<6>(rows, lane, i), scale[lane]));
    }
  }
  result.Commit(wave, inst);
}

template <class Wide, class Narrow>
void Down32(Wave& wave, const Instruction& inst) {
  LaneScratch scratch;
  const uint32_t* scale = FetchRows(wave, inst, 1, LaneType::kU32, scratch).lo;
  const auto* rows = &wave.vector[inst.src[0].index];
  Elements<6> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < kElements; ++i) {
      const uint32_t element = Element<Wide::kBits>(rows, lane, i);
      result.Set(lane, i, Down<Wide, Narrow>(element, scale[lane], wave.mode));
    }
  }
  result.Commit(wave, inst);
}

// Two sources of 16 floats: result 2 i is element i of the first, 2 i + 1 of the second.
template <class Narrow>
void DownInterleaved(Wave& wave, const Instruction& inst) {
  LaneScratch scratch;
  const uint32_t* scale = FetchRows(wave, inst, 2, LaneType::kU32, scratch).lo;
  const auto* even = &wave.vector[inst.src[0].index];
  const auto* odd = &wave.vector[inst.src[1].index];
  Elements<6> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < kElements / 2; ++i) {
      result.Set(lane, 2 * i, Down<WideF32, Narrow>(even[i][lane], scale[lane], wave.mode));
      result.Set(lane, 2 * i + 1, Down<WideF32, Narrow>(odd[i][lane], scale[lane], wave.mode));
    }
  }
  result.Commit(wave, inst);
}

template <class Wide, class Narrow>
void Down32Stochastic(Wave& wave, const Instruction& inst) {
  LaneScratch scratch[2];
  const uint32_t* seed = FetchRows(wave, inst, 1, LaneType::kU32, scratch[0]).lo;
  const uint32_t* scale = FetchRows(wave, inst, 2, LaneType::kU32, scratch[1]).lo;
  const auto* rows = &wave.vector[inst.src[0].index];
  Elements<6> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < kElements; ++i) {
      const uint32_t element = Element<Wide::kBits>(rows, lane, i);
      result.Set(lane, i,
                 DownStochastic<Wide, Narrow>(element, seed[lane], scale[lane], wave.mode));
    }
  }
  result.Commit(wave, inst);
}

template <class Narrow>
void RegisterSixBits(const std::string& name, HandlerTable& table) {
  table.Add("v_cvt_scalef32_pk32_f32_" + name, Up32<Narrow, WideF32>);
  table.Add("v_cvt_scalef32_pk32_f16_" + name, Up32<Narrow, WideF16>);
  table.Add("v_cvt_scalef32_pk32_bf16_" + name, Up32<Narrow, WideBf16>);
  table.Add("v_cvt_scalef32_pk32_" + name + "_f16", Down32<WideF16, Narrow>);
  table.Add("v_cvt_scalef32_pk32_" + name + "_bf16", Down32<WideBf16, Narrow>);
  table.Add("v_cvt_scalef32_2xpk16_" + name + "_f32", DownInterleaved<Narrow>);
  table.Add("v_cvt_scalef32_sr_pk32_" + name + "_f32", Down32Stochastic<WideF32, Narrow>);
  table.Add("v_cvt_scalef32_sr_pk32_" + name + "_f16", Down32Stochastic<WideF16, Narrow>);
  table.Add("v_cvt_scalef32_sr_pk32_" + name + "_bf16", Down32Stochastic<WideBf16, Narrow>);
}

}  // namespace

void RegisterScaledSixBits(Arch arch, HandlerTable& table) {
  if (arch != Arch::kGfx950) return;
  RegisterSixBits<E2m3>("fp6", table);
  RegisterSixBits<E3m2>("bf6", table);
}

}  // namespace lanewise::emulator
