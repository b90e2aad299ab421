// Conversions between integers and floating-point values of 16, 32 and 64 bits.
//
// Float to integer truncates; what does not fit becomes the nearest integer that does, NaN 0.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "emulator/isa/arithmetic/half.h"
#include "emulator/isa/arithmetic/half_rows.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

// ---- float to integer ----

int32_t ToInt32(float a) {
  const bool fits = a > -0x1p31f && a < 0x1p31f;
  const auto whole = static_cast<int32_t>(fits ? a : 0.0f);
  const int32_t limit = a >= 0x1p31f ? INT32_MAX : (a <= -0x1p31f ? INT32_MIN : 0);
  return fits ? whole : limit;
}
uint32_t ToUint32(float a) {
  // Halves of the range, because hosts convert to signed integers.
  const bool upper = a >= 0x1p31f;
  const float low = upper ? a - 0x1p31f : a;
  const bool fits = low >= 0 && low < 0x1p31f;
  const auto whole =
      static_cast<uint32_t>(static_cast<int32_t>(fits ? low : 0.0f)) + (upper ? 0x80000000u : 0u);
  return fits ? whole : (a > 0 ? 0xffffffffu : 0u);
}
int32_t ToInt32FromDouble(double a) {
  const double sane =
      a != a ? 0.0 : (a < -0x1p31 ? -0x1p31 : (a > 0x1.fffffffcp30 ? 0x1.fffffffcp30 : a));
  return static_cast<int32_t>(sane);
}
uint32_t ToUint32FromDouble(double a) {
  const double sane = a > 0 ? (a > 0x1.fffffffep31 ? 0x1.fffffffep31 : a) : 0.0;
  return static_cast<uint32_t>(static_cast<int64_t>(sane));
}
int32_t RoundPlusInf(float a) { return ToInt32(std::floor(a + 0.5f)); }
int32_t FloorToInt32(float a) { return ToInt32(std::floor(a)); }
int16_t HalfToInt16(Half a) {
  return static_cast<int16_t>(std::clamp(ToInt32(ToFloat(a)), -0x8000, 0x7fff));
}
uint16_t HalfToUint16(Half a) {
  return static_cast<uint16_t>(std::clamp(ToInt32(ToFloat(a)), 0, 0xffff));
}

// ---- integer to float ----

float FromInt32(int32_t a) { return static_cast<float>(a); }
float FromUint32(uint32_t a) { return static_cast<float>(a); }
double DoubleFromInt32(int32_t a) { return a; }
double DoubleFromUint32(uint32_t a) { return a; }
// Exact in float, rounded once to half.
Half HalfFromInt16(int16_t a) { return RoundToHalf(static_cast<float>(a)); }
Half HalfFromUint16(uint16_t a) { return RoundToHalf(static_cast<float>(a)); }
template <int kByte>
float FromByte(uint32_t a) {
  return static_cast<float>(static_cast<int32_t>((a >> (8 * kByte)) & 0xff));
}
// Four bits as a signed multiple of 1/16.
float FromOffset4(uint32_t a) {
  return static_cast<float>(static_cast<int32_t>(a << 28) >> 28) * 0.0625f;
}

// ---- float to float ----

float FromHalf(HalfValue a) { return a.value; }
HalfValue ToHalf(float a) { return {a}; }
double ToDouble(float a) { return a; }
float FromDouble(double a) { return static_cast<float>(a); }

// ---- pairs ----

// Toward zero, whatever MODE says.
void PackTruncated(Wave& wave, const Instruction& inst) {
  LaneScratch scratch[2];
  LaneScratch halves;
  for (int index : {0, 1}) {
    const uint32_t* floats = FetchRows(wave, inst, index, LaneType::kF32, scratch[index]).lo;
    uint32_t* const row = index == 0 ? halves.lo : halves.hi;
    std::memcpy(row, floats, sizeof(halves.lo));
    FloatsToHalvesTowardZero(row);
  }
  for (int lane = 0; lane < kLanes; ++lane) halves.lo[lane] |= halves.hi[lane] << 16;
  CommitRows(wave, inst, 0, LaneType::kU32, WriteMask(wave, inst), halves);
}
uint32_t PackRounded(float a, float b) {
  return RoundToHalf(a).bits | uint32_t{RoundToHalf(b).bits} << 16;
}
uint32_t PackInt16(int32_t a, int32_t b) {
  const int32_t low = std::clamp(a, -0x8000, 0x7fff);
  const int32_t high = std::clamp(b, -0x8000, 0x7fff);
  return (static_cast<uint32_t>(low) & 0xffffu) | static_cast<uint32_t>(high) << 16;
}
uint32_t PackUint16(uint32_t a, uint32_t b) {
  return std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16;
}

}  // namespace

void RegisterConversions(Arch arch, HandlerTable& table) {
  table.Add("v_cvt_i32_f32", VectorOp<ToInt32>);
  table.Add("v_cvt_u32_f32", VectorOp<ToUint32>);
  table.Add("v_cvt_i32_f64", VectorOp<ToInt32FromDouble>);
  table.Add("v_cvt_u32_f64", VectorOp<ToUint32FromDouble>);
  table.Add("v_cvt_rpi_i32_f32", VectorOp<RoundPlusInf>);
  table.Add("v_cvt_flr_i32_f32", VectorOp<FloorToInt32>);
  table.Add("v_cvt_i16_f16", VectorOp<HalfToInt16>);
  table.Add("v_cvt_u16_f16", VectorOp<HalfToUint16>);
  table.Add("v_cvt_f32_i32", VectorOp<FromInt32>);
  table.Add("v_cvt_f32_u32", VectorOp<FromUint32>);
  table.Add("v_cvt_f64_i32", VectorOp<DoubleFromInt32>);
  table.Add("v_cvt_f64_u32", VectorOp<DoubleFromUint32>);
  table.Add("v_cvt_f16_i16", VectorOp<HalfFromInt16>);
  table.Add("v_cvt_f16_u16", VectorOp<HalfFromUint16>);
  table.Add("v_cvt_f32_ubyte0", VectorOp<FromByte<0>>);
  table.Add("v_cvt_f32_ubyte1", VectorOp<FromByte<1>>);
  table.Add("v_cvt_f32_ubyte2", VectorOp<FromByte<2>>);
  table.Add("v_cvt_f32_ubyte3", VectorOp<FromByte<3>>);
  table.Add("v_cvt_off_f32_i4", VectorOp<FromOffset4>);
  table.Add("v_cvt_f32_f16", VectorOp<FromHalf>);
  table.Add("v_cvt_f16_f32", VectorOp<ToHalf>);
  table.Add("v_cvt_f64_f32", VectorOp<ToDouble>);
  table.Add("v_cvt_f32_f64", VectorOp<FromDouble>);
  table.Add("v_cvt_pkrtz_f16_f32", PackTruncated);
  table.Add("v_cvt_pk_i16_i32", VectorOp<PackInt16>);
  table.Add("v_cvt_pk_u16_u32", VectorOp<PackUint16>);
  if (arch == Arch::kGfx950) table.Add("v_cvt_pk_f16_f32", VectorOp<PackRounded>);
}

}  // namespace lanewise::emulator
