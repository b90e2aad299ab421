// gfx950's conversions with a scale, v_cvt_scalef32_*: between float, half or bf16 and fp8, bf8,
// fp4, fp6 or bf6, one, two or 32 elements a lane.
//
// The scale is 2^(E - 127), E being the exponent field of a float operand; E = 255 makes every
// result NaN (formats without NaN: their largest number). Up: element * scale, rounded once to
// nearest-even, overflow Inf. Down: value / scale, rounded once to nearest-even or, "sr",
// stochastically (narrow_formats.h); every element of an instruction uses the same seed.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "formats/formats.h"
#include "hip/emulator/dispatch.h"
#include "hip/emulator/families.h"
#include "hip/emulator/half.h"
#include "hip/emulator/insert_byte.h"
#include "hip/emulator/narrow_formats.h"
#include "hip/emulator/vector_op.h"

namespace lanewise::emulator {
namespace {

// ---- the wide formats: values from and to bits ----

struct WideF32 {
  static constexpr int kBits = 32;
  static constexpr int kMantissa = 23;
  static double Value(uint32_t bits) { return double{std::bit_cast<float>(bits)}; }
  static uint32_t Encode(double value) {
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
};
struct WideF16 {
  static constexpr int kBits = 16;
  static constexpr int kMantissa = 10;
  static double Value(uint32_t bits) { return double{ToFloat(Half{static_cast<uint16_t>(bits)})}; }
  static uint32_t Encode(double value) { return RoundToHalf(value).bits; }
};
struct WideBf16 {
  static constexpr int kBits = 16;
  static constexpr int kMantissa = 7;
  static double Value(uint32_t bits) { return double{std::bit_cast<float>(bits << 16)}; }
  static uint32_t Encode(double value) { return Bf16::FromDouble(value).bits(); }
};

// ---- one element ----

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int ScaleField(uint32_t scale) { return static_cast<int>((scale >> 23) & 0xff); }
double Multiplier(uint32_t scale) {
  const int field = ScaleField(scale);
  return field == 255 ? kNan : std::ldexp(1.0, field - 127);
}
double Divisor(uint32_t scale) {
  const int field = ScaleField(scale);
  return field == 255 ? kNan : std::ldexp(1.0, 127 - field);
}

template <class Narrow, class Wide>
uint32_t Up(uint32_t code, uint32_t scale) {
  return Wide::Encode(double{Decoded<Narrow>()[code & 0xff]} * Multiplier(scale));
}
template <class Wide, class Narrow>
uint32_t Down(uint32_t bits, uint32_t scale, Mode mode) {
  return EncodeNearest<Narrow>(Wide::Value(bits) * Divisor(scale), mode);
}
template <class Wide, class Narrow>
uint32_t DownStochastic(uint32_t bits, uint32_t seed, uint32_t scale, Mode mode) {
  return EncodeStochastic<Narrow, Wide::kMantissa>(Wide::Value(bits) * Divisor(scale), seed, mode);
}

// The byte or word of a source that op_sel's low bits name.
uint32_t SelectedByte(uint32_t word, const Instruction& inst) {
  return (word >> (8 * (inst.mod.op_sel & 3))) & 0xff;
}
uint32_t SelectedWord(uint32_t word, const Instruction& inst) {
  return (inst.mod.op_sel & 1) != 0 ? word >> 16 : word & 0xffff;
}

// ---- up: one byte, or a pair of bytes or nibbles ----

template <class Narrow>
float ByteToF32(uint32_t a, uint32_t scale, const Instruction& inst) {
  return std::bit_cast<float>(Up<Narrow, WideF32>(SelectedByte(a, inst), scale));
}
template <class Narrow>
uint16_t ByteToF16(uint32_t a, uint32_t scale, const Instruction& inst) {
  return static_cast<uint16_t>(Up<Narrow, WideF16>(SelectedByte(a, inst), scale));
}

template <class Narrow, class Wide>
uint64_t PairOfCodes(uint32_t low, uint32_t high, uint32_t scale) {
  return static_cast<uint64_t>(Up<Narrow, Wide>(high, scale)) << Wide::kBits |
         Up<Narrow, Wide>(low, scale);
}
template <class Narrow>
uint64_t BytesToF32(uint32_t a, uint32_t scale, const Instruction& inst) {
  const uint32_t word = SelectedWord(a, inst);
  return PairOfCodes<Narrow, WideF32>(word & 0xff, word >> 8, scale);
}
template <class Narrow, class Wide>
uint32_t BytesToHalves(uint32_t a, uint32_t scale, const Instruction& inst) {
  const uint32_t word = SelectedWord(a, inst);
  return static_cast<uint32_t>(PairOfCodes<Narrow, Wide>(word & 0xff, word >> 8, scale));
}
uint64_t NibblesToF32(uint32_t a, uint32_t scale, const Instruction& inst) {
  const uint32_t byte = SelectedByte(a, inst);
  return PairOfCodes<E2m1, WideF32>(byte & 0xf, byte >> 4, scale);
}
template <class Wide>
uint32_t NibblesToHalves(uint32_t a, uint32_t scale, const Instruction& inst) {
  const uint32_t byte = SelectedByte(a, inst);
  return static_cast<uint32_t>(PairOfCodes<E2m1, Wide>(byte & 0xf, byte >> 4, scale));
}

// ---- down: a pair to two bytes (a half of the destination) or to two nibbles (a byte) ----

template <class Narrow>
uint16_t PairToBytes(FloatBits a, FloatBits b, uint32_t scale, Mode mode) {
  return static_cast<uint16_t>(Down<WideF32, Narrow>(a.bits, scale, mode) |
                               Down<WideF32, Narrow>(b.bits, scale, mode) << 8);
}
template <class Wide, class Narrow>
uint16_t HalvesToBytes(uint32_t a, uint32_t scale, Mode mode) {
  return static_cast<uint16_t>(Down<Wide, Narrow>(a & 0xffff, scale, mode) |
                               Down<Wide, Narrow>(a >> 16, scale, mode) << 8);
}
uint32_t PairToNibbles(FloatBits a, FloatBits b, uint32_t scale, Mode mode) {
  return Down<WideF32, E2m1>(a.bits, scale, mode) | Down<WideF32, E2m1>(b.bits, scale, mode) << 4;
}
template <class Wide>
uint32_t HalvesToNibbles(uint32_t a, uint32_t scale, Mode mode) {
  return Down<Wide, E2m1>(a & 0xffff, scale, mode) | Down<Wide, E2m1>(a >> 16, scale, mode) << 4;
}

template <class Narrow>
uint32_t F32ToByteStochastic(FloatBits a, uint32_t seed, uint32_t scale, Mode mode) {
  return DownStochastic<WideF32, Narrow>(a.bits, seed, scale, mode);
}
template <class Wide, class Narrow>
uint32_t HalfToByteStochastic(HalfBits a, uint32_t seed, uint32_t scale, Mode mode) {
  return DownStochastic<Wide, Narrow>(a.bits, seed, scale, mode);
}
uint32_t PairToNibblesStochastic(uint64_t a, uint32_t seed, uint32_t scale, Mode mode) {
  return DownStochastic<WideF32, E2m1>(static_cast<uint32_t>(a), seed, scale, mode) |
         DownStochastic<WideF32, E2m1>(static_cast<uint32_t>(a >> 32), seed, scale, mode) << 4;
}
template <class Wide>
uint32_t HalvesToNibblesStochastic(uint32_t a, uint32_t seed, uint32_t scale, Mode mode) {
  return DownStochastic<Wide, E2m1>(a & 0xffff, seed, scale, mode) |
         DownStochastic<Wide, E2m1>(a >> 16, seed, scale, mode) << 4;
}

template <class Narrow>
void RegisterBytes(const std::string& name, HandlerTable& table) {
  table.Add("v_cvt_scalef32_f32_" + name, VectorOp<ByteToF32<Narrow>>);
  table.Add("v_cvt_scalef32_f16_" + name, VectorOp<ByteToF16<Narrow>, kKeepHigh>);
  table.Add("v_cvt_scalef32_pk_f32_" + name, VectorOp<BytesToF32<Narrow>>);
  table.Add("v_cvt_scalef32_pk_f16_" + name, VectorOp<BytesToHalves<Narrow, WideF16>>);
  table.Add("v_cvt_scalef32_pk_bf16_" + name, VectorOp<BytesToHalves<Narrow, WideBf16>>);
  table.Add("v_cvt_scalef32_pk_" + name + "_f32", VectorOp<PairToBytes<Narrow>, kKeepHigh>);
  table.Add("v_cvt_scalef32_pk_" + name + "_f16",
            VectorOp<HalvesToBytes<WideF16, Narrow>, kKeepHigh>);
  table.Add("v_cvt_scalef32_pk_" + name + "_bf16",
            VectorOp<HalvesToBytes<WideBf16, Narrow>, kKeepHigh>);
  table.Add("v_cvt_scalef32_sr_" + name + "_f32", InsertByte<F32ToByteStochastic<Narrow>>);
  table.Add("v_cvt_scalef32_sr_" + name + "_f16",
            InsertByte<HalfToByteStochastic<WideF16, Narrow>>);
  table.Add("v_cvt_scalef32_sr_" + name + "_bf16",
            InsertByte<HalfToByteStochastic<WideBf16, Narrow>>);
}

void RegisterNibbles(HandlerTable& table) {
  table.Add("v_cvt_scalef32_pk_f32_fp4", VectorOp<NibblesToF32>);
  table.Add("v_cvt_scalef32_pk_f16_fp4", VectorOp<NibblesToHalves<WideF16>>);
  table.Add("v_cvt_scalef32_pk_bf16_fp4", VectorOp<NibblesToHalves<WideBf16>>);
  table.Add("v_cvt_scalef32_pk_fp4_f32", InsertByte<PairToNibbles>);
  table.Add("v_cvt_scalef32_pk_fp4_f16", InsertByte<HalvesToNibbles<WideF16>>);
  table.Add("v_cvt_scalef32_pk_fp4_bf16", InsertByte<HalvesToNibbles<WideBf16>>);
  table.Add("v_cvt_scalef32_sr_pk_fp4_f32", InsertByte<PairToNibblesStochastic>);
  table.Add("v_cvt_scalef32_sr_pk_fp4_f16", InsertByte<HalvesToNibblesStochastic<WideF16>>);
  table.Add("v_cvt_scalef32_sr_pk_fp4_bf16", InsertByte<HalvesToNibblesStochastic<WideBf16>>);
}

// ---- 32 elements of 6 bits: element i at bits 6 i of six registers ----

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

void RegisterScaled(Arch arch, HandlerTable& table) {
  if (arch != Arch::kGfx950) return;
  RegisterBytes<E4m3Fn>("fp8", table);
  RegisterBytes<E5m2>("bf8", table);
  RegisterNibbles(table);
  RegisterSixBits<E2m3>("fp6", table);
  RegisterSixBits<E3m2>("bf6", table);
}

}  // namespace lanewise::emulator
