// Integer arithmetic of 32 and 64 bits: sums, carries, products, minima.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

// ---- sums and differences ----

uint32_t Add(uint32_t a, uint32_t b) { return a + b; }
uint32_t Sub(uint32_t a, uint32_t b) { return a - b; }
uint32_t SubRev(uint32_t a, uint32_t b) { return b - a; }
uint32_t AddClampedU(uint32_t a, uint32_t b) { return a + b < a ? 0xffffffffu : a + b; }
uint32_t SubClampedU(uint32_t a, uint32_t b) { return a < b ? 0 : a - b; }
uint32_t SubRevClampedU(uint32_t a, uint32_t b) { return SubClampedU(b, a); }

uint32_t ClampI(int64_t value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                                                   std::numeric_limits<int32_t>::max()));
}
uint32_t AddClampedI(int32_t a, int32_t b) { return ClampI(int64_t{a} + b); }
uint32_t SubClampedI(int32_t a, int32_t b) { return ClampI(int64_t{a} - b); }

using WithCarry32 = WithCarry<uint32_t>;
WithCarry32 AddCarryOut(uint32_t a, uint32_t b) { return {a + b, a + b < a}; }
WithCarry32 SubBorrowOut(uint32_t a, uint32_t b) { return {a - b, a < b}; }
WithCarry32 SubRevBorrowOut(uint32_t a, uint32_t b) { return {b - a, b < a}; }
WithCarry32 AddCarry(uint32_t a, uint32_t b, bool carry) {
  const uint64_t sum = uint64_t{a} + b + (carry ? 1 : 0);
  return {static_cast<uint32_t>(sum), sum >> 32 != 0};
}
WithCarry32 SubBorrow(uint32_t a, uint32_t b, bool borrow) {
  const uint64_t difference = uint64_t{a} - b - (borrow ? 1 : 0);
  return {static_cast<uint32_t>(difference), difference >> 32 != 0};
}
WithCarry32 SubRevBorrow(uint32_t a, uint32_t b, bool borrow) { return SubBorrow(b, a, borrow); }

// With clamp a carry saturates the value; the carry itself stays.
template <auto kOp>
struct Saturate;
template <typename... Args, WithCarry32 (*kOp)(Args...)>
struct Saturate<kOp> {
  static WithCarry32 Up(Args... args) {
    const WithCarry32 result = kOp(args...);
    return {result.carry ? 0xffffffffu : result.value, result.carry};
  }
  static WithCarry32 Down(Args... args) {
    const WithCarry32 result = kOp(args...);
    return {result.carry ? 0u : result.value, result.carry};
  }
};

uint32_t Add3(uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }
uint32_t ShiftLeftAdd(uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) + c; }
uint32_t AddShiftLeft(uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c & 31); }
uint64_t ShiftLeftAdd64(uint64_t a, uint32_t b, uint64_t c) { return (a << (b & 63)) + c; }
uint32_t XorAdd(uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }

// ---- products ----

uint32_t MulLow(uint32_t a, uint32_t b) { return a * b; }
uint32_t MulHighU(uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} * b) >> 32); }
uint32_t MulHighI(int32_t a, int32_t b) {
  return static_cast<uint32_t>(static_cast<uint64_t>(int64_t{a} * b) >> 32);
}

// 24-bit operands: the upper byte of each is ignored.
uint32_t Low24(uint32_t a) { return a & 0xffffffu; }
int32_t Signed24(uint32_t a) { return static_cast<int32_t>(a << 8) >> 8; }
uint64_t ProductU24(uint32_t a, uint32_t b) { return uint64_t{Low24(a)} * Low24(b); }
int64_t ProductI24(uint32_t a, uint32_t b) { return int64_t{Signed24(a)} * Signed24(b); }

uint32_t MulU24(uint32_t a, uint32_t b) { return Low24(a) * Low24(b); }
uint32_t MulHighU24(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(ProductU24(a, b) >> 32);
}
uint32_t MulI24(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(Signed24(a)) * static_cast<uint32_t>(Signed24(b));
}
uint32_t MulHighI24(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(static_cast<uint64_t>(ProductI24(a, b)) >> 32);
}
uint32_t MadU24(uint32_t a, uint32_t b, uint32_t c) { return MulU24(a, b) + c; }
uint32_t MadI24(uint32_t a, uint32_t b, uint32_t c) { return MulI24(a, b) + c; }
uint32_t MadClampedU24(uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<uint32_t>(std::min<uint64_t>(ProductU24(a, b) + c, 0xffffffffu));
}
uint32_t MadClampedI24(uint32_t a, uint32_t b, int32_t c) { return ClampI(ProductI24(a, b) + c); }

WithCarry<uint64_t> MadU64(uint32_t a, uint32_t b, uint64_t c) {
  const uint64_t sum = uint64_t{a} * b + c;
  return {sum, sum < c};
}
// The carry is the signed overflow of the sum.
WithCarry<uint64_t> MadI64(int32_t a, int32_t b, uint64_t c) {
  const auto product = static_cast<uint64_t>(int64_t{a} * b);
  const uint64_t sum = product + c;
  return {sum, (((product ^ sum) & (c ^ sum)) >> 63) != 0};
}

// ---- minima, maxima, medians ----

uint32_t MinU(uint32_t a, uint32_t b) { return std::min(a, b); }
uint32_t MaxU(uint32_t a, uint32_t b) { return std::max(a, b); }
int32_t MinI(int32_t a, int32_t b) { return std::min(a, b); }
int32_t MaxI(int32_t a, int32_t b) { return std::max(a, b); }
uint32_t Min3U(uint32_t a, uint32_t b, uint32_t c) { return MinU(MinU(a, b), c); }
uint32_t Max3U(uint32_t a, uint32_t b, uint32_t c) { return MaxU(MaxU(a, b), c); }
int32_t Min3I(int32_t a, int32_t b, int32_t c) { return MinI(MinI(a, b), c); }
int32_t Max3I(int32_t a, int32_t b, int32_t c) { return MaxI(MaxI(a, b), c); }
uint32_t Med3U(uint32_t a, uint32_t b, uint32_t c) { return MaxU(MinU(a, b), MinU(MaxU(a, b), c)); }
int32_t Med3I(int32_t a, int32_t b, int32_t c) { return MaxI(MinI(a, b), MinI(MaxI(a, b), c)); }

}  // namespace

void RegisterVectorInteger(Arch /*arch*/, HandlerTable& table) {
  table.Add("v_add_u32", ClampedOp<Add, AddClampedU>);
  table.Add("v_sub_u32", ClampedOp<Sub, SubClampedU>);
  table.Add("v_subrev_u32", ClampedOp<SubRev, SubRevClampedU>);
  table.Add("v_add_i32", ClampedOp<Add, AddClampedI>);
  table.Add("v_sub_i32", ClampedOp<Sub, SubClampedI>);
  table.Add("v_add_co_u32", ClampedCarryOp<AddCarryOut, Saturate<AddCarryOut>::Up>);
  table.Add("v_sub_co_u32", ClampedCarryOp<SubBorrowOut, Saturate<SubBorrowOut>::Down>);
  table.Add("v_subrev_co_u32", ClampedCarryOp<SubRevBorrowOut, Saturate<SubRevBorrowOut>::Down>);
  constexpr Traits kCarryIn{.scalars = ScalarRule::kLastIsLaneMask};
  table.Add("v_addc_co_u32", ClampedCarryOp<AddCarry, Saturate<AddCarry>::Up>, kCarryIn);
  table.Add("v_subb_co_u32", ClampedCarryOp<SubBorrow, Saturate<SubBorrow>::Down>, kCarryIn);
  table.Add("v_subbrev_co_u32", ClampedCarryOp<SubRevBorrow, Saturate<SubRevBorrow>::Down>,
            kCarryIn);
  table.Add("v_add3_u32", VectorOp<Add3>);
  table.Add("v_lshl_add_u32", VectorOp<ShiftLeftAdd>);
  table.Add("v_add_lshl_u32", VectorOp<AddShiftLeft>);
  table.Add("v_lshl_add_u64", VectorOp<ShiftLeftAdd64>);
  table.Add("v_xad_u32", VectorOp<XorAdd>);

  table.Add("v_mul_lo_u32", VectorOp<MulLow>);
  table.Add("v_mul_hi_u32", VectorOp<MulHighU>);
  table.Add("v_mul_hi_i32", VectorOp<MulHighI>);
  table.Add("v_mul_u32_u24", VectorOp<MulU24>);
  table.Add("v_mul_hi_u32_u24", VectorOp<MulHighU24>);
  table.Add("v_mul_i32_i24", VectorOp<MulI24>);
  table.Add("v_mul_hi_i32_i24", VectorOp<MulHighI24>);
  table.Add("v_mad_u32_u24", ClampedOp<MadU24, MadClampedU24>);
  table.Add("v_mad_i32_i24", ClampedOp<MadI24, MadClampedI24>);
  table.Add("v_mad_u64_u32", CarryOp<MadU64>, {.upper_addend_may_be_undefined = true});
  table.Add("v_mad_i64_i32", CarryOp<MadI64>, {.upper_addend_may_be_undefined = true});

  table.Add("v_min_u32", VectorOp<MinU>);
  table.Add("v_max_u32", VectorOp<MaxU>);
  table.Add("v_min_i32", VectorOp<MinI>);
  table.Add("v_max_i32", VectorOp<MaxI>);
  table.Add("v_min3_u32", VectorOp<Min3U>);
  table.Add("v_max3_u32", VectorOp<Max3U>);
  table.Add("v_min3_i32", VectorOp<Min3I>);
  table.Add("v_max3_i32", VectorOp<Max3I>);
  table.Add("v_med3_u32", VectorOp<Med3U>);
  table.Add("v_med3_i32", VectorOp<Med3I>);
}

}  // namespace lanewise::emulator
