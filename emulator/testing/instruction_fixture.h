#ifndef LANEWISE_EMULATOR_TESTING_INSTRUCTION_FIXTURE_H_
#define LANEWISE_EMULATOR_TESTING_INSTRUCTION_FIXTURE_H_

// For tests of instructions: assembler text, decoded once, run on as many values as a test likes.
//
//   TEST_P(AddTest, Adds) {
//     ExpectEach("v_add_u32 v0, v1, v4", Combine(EdgeWords(), EdgeWords()),
//                [](Values in) { return in.a + in.b; });
//   }
//
// Source registers: a in v1 and, 64 bits of it, in v[2:3], b in v4 and v[12:13], c in v6 and
// v[14:15]; results in v0 or v[8:9], which are poisoned before each run.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "emulator/decode/decoder.h"
#include "emulator/machine/wave.h"
#include "emulator/testing/assemble.h"
#include "gtest/gtest.h"

namespace lanewise::emulator {

// One lane's sources.
struct Values {
  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t c = 0;
};

// Bit patterns where integers and floats have their edges.
inline const std::vector<uint64_t>& EdgeWords() {
  static const auto* const kWords = new std::vector<uint64_t>{
      0,          1,          2,          3,          15,         16,         31,
      32,         33,         0x7f,       0x80,       0xff,       0x100,      0x7fff,
      0x8000,     0xffff,     0x10000,    0x7fffff,   0x800000,   0x800001,   0xffffff,
      0x1000000,  0x3f000000, 0x3f7fffff, 0x3f800000, 0x3fc00000, 0x40490fdb, 0x4b000000,
      0x4effffff, 0x4f000000, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000,
      0x7fffffff, 0x80000000, 0x80000001, 0x807fffff, 0x80800000, 0xbf000000, 0xbf800000,
      0xc0490fdb, 0xcf000000, 0xff7fffff, 0xff800000, 0xff800001, 0xffc00000, 0xfffffffe,
      0xffffffff, 0x12345678, 0x9abcdef0, 0xdeadbeef, 0x00010203, 0xf0e1d2c3};
  return *kWords;
}

// The same for 16 bits: also halves.
inline const std::vector<uint64_t>& EdgeHalves() {
  static const auto* const kHalves = new std::vector<uint64_t>{
      0,      1,      2,      15,     16,     17,     0x7f,   0x80,   0xff,   0x100,
      0x3ff,  0x400,  0x401,  0x1000, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4248,
      0x6400, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff, 0x8000, 0x8001, 0x83ff, 0x8400,
      0xb800, 0xbc00, 0xc248, 0xfbff, 0xfc00, 0xfc01, 0xfe00, 0xffff, 0xabcd, 0x1234};
  return *kHalves;
}

// Doubles with the same sort of edges.
inline const std::vector<uint64_t>& EdgeLongs() {
  static const auto* const kLongs = new std::vector<uint64_t>{0,
                                                              1,
                                                              63,
                                                              64,
                                                              0xffffffff,
                                                              0x100000000,
                                                              0x7fffffffffffffff,
                                                              0x8000000000000000,
                                                              0x8000000000000001,
                                                              0xffffffffffffffff,
                                                              0x000fffffffffffff,
                                                              0x0010000000000000,
                                                              0x3fe0000000000000,
                                                              0x3ff0000000000000,
                                                              0x3ff0000000000001,
                                                              0x3fefffffffffffff,
                                                              0x400921fb54442d18,
                                                              0x41dfffffffc00000,
                                                              0x41e0000000000000,
                                                              0x41f0000000000000,
                                                              0x4330000000000001,
                                                              0x7fefffffffffffff,
                                                              0x7ff0000000000000,
                                                              0x7ff0000000000001,
                                                              0x7ff8000000000000,
                                                              0xbfe0000000000000,
                                                              0xbff0000000000000,
                                                              0xc1e0000000000000,
                                                              0xffefffffffffffff,
                                                              0xfff0000000000000,
                                                              0xfff8000000000000,
                                                              0x0123456789abcdef,
                                                              0xfedcba9876543210};
  return *kLongs;
}

inline std::vector<Values> Combine(const std::vector<uint64_t>& a) {
  std::vector<Values> all;
  for (uint64_t x : a) all.push_back({x, 0, 0});
  return all;
}
inline std::vector<Values> Combine(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  std::vector<Values> all;
  for (uint64_t x : a) {
    for (uint64_t y : b) all.push_back({x, y, 0});
  }
  return all;
}
inline std::vector<Values> Combine(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b,
                                   const std::vector<uint64_t>& c) {
  std::vector<Values> all;
  for (uint64_t x : a) {
    for (uint64_t y : b) {
      for (uint64_t z : c) all.push_back({x, y, z});
    }
  }
  return all;
}
// All 16-bit values.
inline std::vector<uint64_t> AllHalves() {
  std::vector<uint64_t> all(65536);
  for (uint64_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// A reproducible draw of 64-bit values.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

inline std::vector<Values> Random(int count, uint64_t seed) {
  Draw draw(seed);
  std::vector<Values> all(count);
  for (Values& values : all) values = {draw.Next(), draw.Next(), draw.Next()};
  return all;
}

class InstructionTest : public testing::TestWithParam<Arch> {
 protected:
  static constexpr uint32_t kPoison = 0xdead0000u;

  void SetUp() override {
    wave_ = std::make_unique<Wave>();
    wave_->arch = GetParam();
    wave_->mode.bits = 0x3f0;  // denormals kept, IEEE, NaN clamps to 0: a kernel's start
    std::memset(wave_->scalar, 0, sizeof(wave_->scalar));
    wave_->set_exec(~uint64_t{0});
    for (int r = 0; r < kVectorRows; ++r) {
      for (int l = 0; l < kLanes; ++l) wave_->vector[r][l] = kPoison + static_cast<uint32_t>(r);
    }
    auto decoder = Decoder::Create(GetParam());
    ASSERT_TRUE(decoder.ok()) << decoder.status().ToString();
    decoder_ = *std::move(decoder);
  }

  bool IsGfx950() const { return GetParam() == Arch::kGfx950; }

  Instruction Decode(const std::string& text) {
    const auto bytes = Assemble(GetParam(), text);
    EXPECT_TRUE(bytes.ok()) << text << ": " << bytes.status().ToString();
    if (!bytes.ok()) return Instruction();
    return decoder_->Decode(*bytes, 0);
  }
  // Several instructions, one a line.
  std::vector<Instruction> DecodeAll(const std::string& text) {
    std::vector<Instruction> all;
    const auto bytes = Assemble(GetParam(), text);
    EXPECT_TRUE(bytes.ok()) << text << ": " << bytes.status().ToString();
    if (!bytes.ok()) return all;
    const std::span<const uint8_t> code(*bytes);
    for (size_t at = 0; at < code.size(); at += all.back().size) {
      all.push_back(decoder_->Decode(code.subspan(at), static_cast<uint32_t>(at)));
    }
    return all;
  }
  void Run(const Instruction& inst) {
    if (inst.handler == nullptr) return;
    inst.handler(*wave_, inst);
    ASSERT_NE(wave_->state, Wave::State::kFailed) << wave_->failure();
  }
  void Run(const std::string& text) {
    const absl::Status status = Execute(*wave_, text);
    ASSERT_TRUE(status.ok()) << text << ": " << status.ToString();
  }

  void Set(int row, int lane, uint32_t value) { wave_->vector[row][lane] = value; }
  void Set64(int row, int lane, uint64_t value) {
    wave_->vector[row][lane] = static_cast<uint32_t>(value);
    wave_->vector[row + 1][lane] = static_cast<uint32_t>(value >> 32);
  }
  void SetF32(int row, int lane, float value) { Set(row, lane, std::bit_cast<uint32_t>(value)); }
  uint32_t Get(int row, int lane) const { return wave_->vector[row][lane]; }
  uint64_t Get64(int row, int lane) const {
    return static_cast<uint64_t>(wave_->vector[row + 1][lane]) << 32 | wave_->vector[row][lane];
  }
  float F32(int row, int lane) const { return std::bit_cast<float>(Get(row, lane)); }

  // Sets v1, v4, v6 and the pairs v[2:3], v[12:13], v[14:15] of all lanes, 64 values at a time,
  // runs and calls check(values, lane).
  template <typename Check>
  void ForEach(const std::string& text, const std::vector<Values>& inputs, Check check) {
    const Instruction inst = Decode(text);
    for (size_t first = 0; first < inputs.size(); first += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const Values& in = inputs[std::min(first + lane, inputs.size() - 1)];
        Set(1, lane, static_cast<uint32_t>(in.a));
        Set(4, lane, static_cast<uint32_t>(in.b));
        Set(6, lane, static_cast<uint32_t>(in.c));
        Set64(2, lane, in.a);
        Set64(12, lane, in.b);
        Set64(14, lane, in.c);
        Set(0, lane, kPoison);
        Set64(8, lane, 0xdeaddeaddeaddeadu);
      }
      Run(inst);
      if (HasFatalFailure()) return;
      for (int lane = 0; lane < kLanes && first + lane < inputs.size(); ++lane) {
        check(inputs[first + lane], lane);
        if (HasFailure()) return;
      }
    }
  }

  // The result is v0.
  template <typename Expected>
  void ExpectEach(const std::string& text, const std::vector<Values>& inputs, Expected expected) {
    ForEach(text, inputs, [&](const Values& in, int lane) {
      ASSERT_EQ(Get(0, lane), static_cast<uint32_t>(expected(in)))
          << text << std::hex << ": a = 0x" << in.a << ", b = 0x" << in.b << ", c = 0x" << in.c;
    });
  }
  // The result is v[8:9].
  template <typename Expected>
  void ExpectEach64(const std::string& text, const std::vector<Values>& inputs, Expected expected) {
    ForEach(text, inputs, [&](const Values& in, int lane) {
      ASSERT_EQ(Get64(8, lane), static_cast<uint64_t>(expected(in)))
          << text << std::hex << ": a = 0x" << in.a << ", b = 0x" << in.b << ", c = 0x" << in.c;
    });
  }

  // As ExpectEach, any NaN being as good as any other.
  template <typename Expected>
  void ExpectEachFloat(const std::string& text, const std::vector<Values>& inputs,
                       Expected expected) {
    ForEach(text, inputs, [&](const Values& in, int lane) {
      const float want = expected(in);
      const float got = F32(0, lane);
      if (want != want && got != got) return;
      ASSERT_EQ(Get(0, lane), std::bit_cast<uint32_t>(want))
          << text << ": got " << got << ", expected " << want << std::hex << ", a = 0x" << in.a
          << ", b = 0x" << in.b << ", c = 0x" << in.c;
    });
  }
  template <typename Expected>
  void ExpectEachDouble(const std::string& text, const std::vector<Values>& inputs,
                        Expected expected) {
    ForEach(text, inputs, [&](const Values& in, int lane) {
      const double want = expected(in);
      const double got = std::bit_cast<double>(Get64(8, lane));
      if (want != want && got != got) return;
      ASSERT_EQ(Get64(8, lane), std::bit_cast<uint64_t>(want))
          << text << ": got " << got << ", expected " << want << std::hex << ", a = 0x" << in.a
          << ", b = 0x" << in.b << ", c = 0x" << in.c;
    });
  }

  std::unique_ptr<Wave> wave_;
  std::unique_ptr<Decoder> decoder_;
};

inline std::string ChipName(const testing::TestParamInfo<Arch>& info) {
  return std::string(ArchName(info.param));
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_TESTING_INSTRUCTION_FIXTURE_H_
