// Comparisons and class tests: every relation on every type, masks, EXEC.

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "emulator/testing/instruction_fixture.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

// What a relation says of "less", "equal", "greater" and "unordered".
struct Relation {
  const char* name;
  bool less, equal, greater, unordered;
};
constexpr Relation kFloat[] = {
    {"f", false, false, false, false}, {"lt", true, false, false, false},
    {"eq", false, true, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"lg", true, false, true, false},
    {"ge", false, true, true, false},  {"o", true, true, true, false},
    {"u", false, false, false, true},  {"nge", true, false, false, true},
    {"nlg", false, true, false, true}, {"ngt", true, true, false, true},
    {"nle", false, false, true, true}, {"neq", true, false, true, true},
    {"nlt", false, true, true, true},  {"tru", true, true, true, true},
};
constexpr Relation kInteger[] = {
    {"f", false, false, false, false}, {"lt", true, false, false, false},
    {"eq", false, true, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"ne", true, false, true, false},
    {"ge", false, true, true, false},  {"t", true, true, true, false},
};

template <typename T>
bool Holds(const Relation& relation, T a, T b) {
  if (a < b) return relation.less;
  if (a > b) return relation.greater;
  if (a == b) return relation.equal;
  return relation.unordered;
}

class VectorCompareTest : public InstructionTest {
 protected:
  // `sources`: "v1, v4" or the pairs; value(bits) gives a comparable number.
  template <typename Value>
  void Check(const Relation& relation, const std::string& type, const std::string& sources,
             const std::vector<Values>& inputs, Value value) {
    const uint64_t exec = 0xfffffffffffffff0u;
    for (bool writes_exec : {false, true}) {
      const std::string text = std::string(writes_exec ? "v_cmpx_" : "v_cmp_") + relation.name +
                               "_" + type + "_e64 s[10:11], " + sources;
      const Instruction inst = Decode(text);
      for (size_t first = 0; first < inputs.size(); first += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const Values& in = inputs[std::min(first + lane, inputs.size() - 1)];
          Set(1, lane, static_cast<uint32_t>(in.a));
          Set(4, lane, static_cast<uint32_t>(in.b));
          Set64(2, lane, in.a);
          Set64(12, lane, in.b);
        }
        wave_->set_exec(exec);
        wave_->SetScalar64(10, ~uint64_t{0});
        Run(inst);
        const uint64_t mask = wave_->Scalar64(10);
        ASSERT_EQ(wave_->exec(), writes_exec ? mask : exec) << text;
        for (int lane = 0; lane < kLanes && first + lane < inputs.size(); ++lane) {
          const Values& in = inputs[first + lane];
          const bool expected =
              ((exec >> lane) & 1) != 0 && Holds(relation, value(in.a), value(in.b));
          ASSERT_EQ((mask >> lane) & 1, expected ? 1u : 0u)
              << text << std::hex << " a = 0x" << in.a << " b = 0x" << in.b << " lane " << lane;
        }
      }
    }
    wave_->set_exec(~uint64_t{0});
  }
};

TEST_P(VectorCompareTest, Integers) {
  const auto words = Combine(EdgeWords(), EdgeWords());
  const auto longs = Combine(EdgeLongs(), EdgeLongs());
  const auto halves = Combine(AllHalves(), {0, 1, 0x7fff, 0x8000, 0xffff});
  for (const Relation& relation : kInteger) {
    Check(relation, "u32", "v1, v4", words, [](uint64_t x) { return x; });
    Check(relation, "i32", "v1, v4", words, [](uint64_t x) { return static_cast<int32_t>(x); });
    Check(relation, "u64", "v[2:3], v[12:13]", longs, [](uint64_t x) { return x; });
    Check(relation, "i64", "v[2:3], v[12:13]", longs,
          [](uint64_t x) { return static_cast<int64_t>(x); });
    Check(relation, "u16", "v1, v4", halves, [](uint64_t x) { return x; });
    Check(relation, "i16", "v1, v4", halves, [](uint64_t x) { return static_cast<int16_t>(x); });
  }
}

TEST_P(VectorCompareTest, Floats) {
  const auto words = Combine(EdgeWords(), EdgeWords());
  const auto longs = Combine(EdgeLongs(), EdgeLongs());
  const auto halves = Combine(AllHalves(), {0, 0x8000, 0x3c00, 0xfc00, 0x7e00});
  for (const Relation& relation : kFloat) {
    Check(relation, "f32", "v1, v4", words,
          [](uint64_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x)); });
    Check(relation, "f64", "v[2:3], v[12:13]", longs,
          [](uint64_t x) { return std::bit_cast<double>(x); });
    Check(relation, "f16", "v1, v4", halves,
          [](uint64_t x) { return F16::FromBits(static_cast<uint16_t>(x)).ToFloat(); });
  }
}

TEST_P(VectorCompareTest, VccAndModifiers) {
  for (int lane = 0; lane < kLanes; ++lane) {
    SetF32(1, lane, static_cast<float>(lane) - 32);
    SetF32(4, lane, 16);
  }
  Run("v_cmp_gt_f32 vcc, v1, v4");
  EXPECT_EQ(wave_->vcc(), 0xfffe000000000000u);
  Run("v_cmp_gt_f32_e64 vcc, |v1|, v4");
  EXPECT_EQ(wave_->vcc(), 0xfffe00000000ffffu);
  Run("v_cmp_gt_f32_e64 vcc, -v1, v4");
  EXPECT_EQ(wave_->vcc(), 0x000000000000ffffu);
  Run("v_cmp_lt_f32 vcc, 0, v1\nv_cmp_eq_u32_sdwa s[4:5], v1, v4 src0_sel:BYTE_3 src1_sel:DWORD");
  EXPECT_EQ(wave_->vcc(), 0xfffffffe00000000u);
  EXPECT_EQ(wave_->Scalar64(4), 0u);
  Run("v_cmp_eq_u16_sdwa s[4:5], v1, v4 src0_sel:WORD_1 src1_sel:WORD_1");
  EXPECT_EQ(wave_->Scalar64(4), uint64_t{1} << 48);
}

// What fpclassify says, bit by bit.
uint32_t ClassOf(int kind, bool negative, bool quiet) {
  switch (kind) {
    case FP_NAN:
      return quiet ? 2 : 1;
    case FP_INFINITE:
      return negative ? 4 : 0x200;
    case FP_NORMAL:
      return negative ? 8 : 0x100;
    case FP_SUBNORMAL:
      return negative ? 0x10 : 0x80;
    default:
      return negative ? 0x20 : 0x40;
  }
}

TEST_P(VectorCompareTest, Classes) {
  for (uint32_t mode : {0x3f0u, 0x300u}) {  // flushing has no say in a class
    wave_->mode.bits = mode;
    for (uint32_t bit = 0; bit < 10; ++bit) {
      wave_->scalar[2] = 1u << bit;
      const auto check = [&](const std::string& text, const std::vector<Values>& inputs,
                             auto expected) {
        ForEach(text, inputs, [&](Values v, int lane) {
          ASSERT_EQ((wave_->Scalar64(10) >> lane) & 1, expected(v.a) == 1u << bit ? 1u : 0u)
              << text << std::hex << " a = 0x" << v.a << " class " << (1u << bit);
        });
      };
      check("v_cmp_class_f32_e64 s[10:11], v1, s2", Combine(EdgeWords()), [](uint64_t a) {
        const float value = std::bit_cast<float>(static_cast<uint32_t>(a));
        return ClassOf(std::fpclassify(value), std::signbit(value), (a >> 22 & 1) != 0);
      });
      check("v_cmp_class_f64_e64 s[10:11], v[2:3], s2", Combine(EdgeLongs()), [](uint64_t a) {
        const double value = std::bit_cast<double>(a);
        return ClassOf(std::fpclassify(value), std::signbit(value), (a >> 51 & 1) != 0);
      });
      check("v_cmp_class_f16_e64 s[10:11], v1, s2", Combine(AllHalves()), [](uint64_t a) {
        const F16 value = F16::FromBits(static_cast<uint16_t>(a));
        const int kind = value.IsNan()         ? FP_NAN
                         : value.IsInf()       ? FP_INFINITE
                         : value.IsZero()      ? FP_ZERO
                         : value.IsSubnormal() ? FP_SUBNORMAL
                                               : FP_NORMAL;
        return ClassOf(kind, (a & 0x8000) != 0, (a & 0x200) != 0);
      });
    }
  }
  wave_->mode.bits = 0x3f0;
  wave_->scalar[2] = 0x60;  // both zeros, of |a| and of -a
  Set(1, 0, 0x80000000u);
  Run("v_cmp_class_f32_e64 s[10:11], |v1|, s2");
  EXPECT_EQ(wave_->Scalar64(10) & 1, 1u);
}

INSTANTIATE_TEST_SUITE_P(Chips, VectorCompareTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
