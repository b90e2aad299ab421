// Vector comparisons, v_cmp_* into a mask of lanes and v_cmpx_* into EXEC as well, and class tests.

#include <cstdint>
#include <string>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

// The relations of the ISA, on a type with C++'s comparisons. "n" relations are the negations: true
// for unordered operands.
template <typename T>
struct Relations {
  static bool False(T, T) { return false; }
  static bool Less(T a, T b) { return a < b; }
  static bool Equal(T a, T b) { return a == b; }
  static bool LessEqual(T a, T b) { return a <= b; }
  static bool Greater(T a, T b) { return a > b; }
  static bool LessGreater(T a, T b) { return a < b || a > b; }
  static bool GreaterEqual(T a, T b) { return a >= b; }
  static bool Ordered(T a, T b) { return a == a && b == b; }
  static bool Unordered(T a, T b) { return !Ordered(a, b); }
  static bool NotGreaterEqual(T a, T b) { return !(a >= b); }
  static bool NotLessGreater(T a, T b) { return !LessGreater(a, b); }
  static bool NotGreater(T a, T b) { return !(a > b); }
  static bool NotLessEqual(T a, T b) { return !(a <= b); }
  static bool NotEqual(T a, T b) { return a != b; }
  static bool NotLess(T a, T b) { return !(a < b); }
  static bool True(T, T) { return true; }
};

template <bool (*kRelation)(float, float)>
bool OfHalves(Half a, Half b) {
  return kRelation(ToFloat(a), ToFloat(b));
}

// The bits of a class test's second operand.
enum : uint32_t {
  kSignalingNan = 1 << 0,
  kQuietNan = 1 << 1,
  kNegativeInf = 1 << 2,
  kNegativeNormal = 1 << 3,
  kNegativeDenormal = 1 << 4,
  kNegativeZero = 1 << 5,
  kPositiveZero = 1 << 6,
  kPositiveDenormal = 1 << 7,
  kPositiveNormal = 1 << 8,
  kPositiveInf = 1 << 9,
};

template <int kExponentBits, int kMantissaBits>
bool IsOfClass(uint64_t bits, uint32_t classes) {
  constexpr uint64_t kTop = (uint64_t{1} << kExponentBits) - 1;
  const bool negative = ((bits >> (kExponentBits + kMantissaBits)) & 1) != 0;
  const uint64_t exponent = (bits >> kMantissaBits) & kTop;
  const uint64_t mantissa = bits & ((uint64_t{1} << kMantissaBits) - 1);
  const bool quiet = (mantissa >> (kMantissaBits - 1)) != 0;
  const uint32_t special = mantissa != 0 ? (quiet ? kQuietNan : kSignalingNan)
                                         : (negative ? kNegativeInf : kPositiveInf);
  const uint32_t small = mantissa != 0 ? (negative ? kNegativeDenormal : kPositiveDenormal)
                                       : (negative ? kNegativeZero : kPositiveZero);
  const uint32_t normal = negative ? kNegativeNormal : kPositiveNormal;
  const uint32_t is = exponent == kTop ? special : (exponent == 0 ? small : normal);
  return (classes & is) != 0;
}
bool ClassF32(FloatBits a, uint32_t classes) { return IsOfClass<8, 23>(a.bits, classes); }
bool ClassF64(DoubleBits a, uint32_t classes) { return IsOfClass<11, 52>(a.bits, classes); }
bool ClassF16(HalfBits a, uint16_t classes) { return IsOfClass<5, 10>(a.bits, classes); }

template <auto kRelation>
void Add(HandlerTable& table, const std::string& relation, const std::string& type) {
  table.Add("v_cmp_" + relation + "_" + type, CompareOp<kRelation>);
  table.Add("v_cmpx_" + relation + "_" + type, CompareOp<kRelation, /*kWritesExec=*/true>);
}

template <typename T>
void AddInteger(HandlerTable& table, const std::string& type) {
  using R = Relations<T>;
  Add<R::False>(table, "f", type);
  Add<R::Less>(table, "lt", type);
  Add<R::Equal>(table, "eq", type);
  Add<R::LessEqual>(table, "le", type);
  Add<R::Greater>(table, "gt", type);
  Add<R::NotEqual>(table, "ne", type);
  Add<R::GreaterEqual>(table, "ge", type);
  Add<R::True>(table, "t", type);
}

template <typename T>
void AddFloat(HandlerTable& table, const std::string& type) {
  using R = Relations<T>;
  Add<R::False>(table, "f", type);
  Add<R::Less>(table, "lt", type);
  Add<R::Equal>(table, "eq", type);
  Add<R::LessEqual>(table, "le", type);
  Add<R::Greater>(table, "gt", type);
  Add<R::LessGreater>(table, "lg", type);
  Add<R::GreaterEqual>(table, "ge", type);
  Add<R::Ordered>(table, "o", type);
  Add<R::Unordered>(table, "u", type);
  Add<R::NotGreaterEqual>(table, "nge", type);
  Add<R::NotLessGreater>(table, "nlg", type);
  Add<R::NotGreater>(table, "ngt", type);
  Add<R::NotLessEqual>(table, "nle", type);
  Add<R::NotEqual>(table, "neq", type);
  Add<R::NotLess>(table, "nlt", type);
  Add<R::True>(table, "tru", type);
}

void AddHalf(HandlerTable& table) {
  using R = Relations<float>;
  Add<OfHalves<R::False>>(table, "f", "f16");
  Add<OfHalves<R::Less>>(table, "lt", "f16");
  Add<OfHalves<R::Equal>>(table, "eq", "f16");
  Add<OfHalves<R::LessEqual>>(table, "le", "f16");
  Add<OfHalves<R::Greater>>(table, "gt", "f16");
  Add<OfHalves<R::LessGreater>>(table, "lg", "f16");
  Add<OfHalves<R::GreaterEqual>>(table, "ge", "f16");
  Add<OfHalves<R::Ordered>>(table, "o", "f16");
  Add<OfHalves<R::Unordered>>(table, "u", "f16");
  Add<OfHalves<R::NotGreaterEqual>>(table, "nge", "f16");
  Add<OfHalves<R::NotLessGreater>>(table, "nlg", "f16");
  Add<OfHalves<R::NotGreater>>(table, "ngt", "f16");
  Add<OfHalves<R::NotLessEqual>>(table, "nle", "f16");
  Add<OfHalves<R::NotEqual>>(table, "neq", "f16");
  Add<OfHalves<R::NotLess>>(table, "nlt", "f16");
  Add<OfHalves<R::True>>(table, "tru", "f16");
}

}  // namespace

void RegisterVectorCompare(Arch /*arch*/, HandlerTable& table) {
  AddInteger<uint16_t>(table, "u16");
  AddInteger<int16_t>(table, "i16");
  AddInteger<uint32_t>(table, "u32");
  AddInteger<int32_t>(table, "i32");
  AddInteger<uint64_t>(table, "u64");
  AddInteger<int64_t>(table, "i64");
  AddHalf(table);
  AddFloat<float>(table, "f32");
  AddFloat<double>(table, "f64");
  Add<ClassF16>(table, "class", "f16");
  Add<ClassF32>(table, "class", "f32");
  Add<ClassF64>(table, "class", "f64");
}

}  // namespace lanewise::emulator
