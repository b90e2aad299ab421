#ifndef LANEWISE_EMULATOR_MACHINE_WAVE_H_
#define LANEWISE_EMULATOR_MACHINE_WAVE_H_

// The state of one wave: 64 lanes, their vector registers, the scalar registers they share.
//
// Vector file: row r is one register of all 64 lanes. Rows 0..255 are v0..v255, rows 256..511 the
// accumulation registers a0..a255. A 64-bit operand is two rows, low first.
// Scalar file: indexed by the ISA's source code: 0..101 s0..s101, 106-107 VCC, 108..123 ttmp0..15,
// 124 M0, 126-127 EXEC, 235..238 the apertures' bases and limits, 253 SCC (0 or 1). A 64-bit
// operand is two entries, low first.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "emulator/arch.h"
#include "emulator/instruction.h"

namespace lanewise::emulator {

inline constexpr int kLanes = 64;
inline constexpr int kFirstAccumulator = 256;  // row of a0
inline constexpr int kVectorRows = 512;

// Indices of the scalar file.
inline constexpr int kVcc = 106;
inline constexpr int kM0 = 124;
inline constexpr int kExec = 126;
inline constexpr int kVccz = 251;
inline constexpr int kExecz = 252;
inline constexpr int kScc = 253;
inline constexpr int kScalarEntries = 256;

// The MODE register's fields that change arithmetic, at their bits in the register.
struct Mode {
  uint32_t bits = 0;
  int round_f32() const { return bits & 3; }  // 0 nearest even, 1 up, 2 down, 3 to zero
  int round_f16_f64() const { return (bits >> 2) & 3; }
  bool denormal_in_f32() const { return (bits >> 4) & 1; }  // inputs are kept, not flushed
  bool denormal_out_f32() const { return (bits >> 5) & 1; }
  bool denormal_in_f16_f64() const { return (bits >> 6) & 1; }
  bool denormal_out_f16_f64() const { return (bits >> 7) & 1; }
  bool dx10_clamp() const { return (bits >> 8) & 1; }  // clamp turns NaN into 0
  bool ieee() const { return (bits >> 9) & 1; }        // signaling NaNs become quiet in min, max
  bool fp16_ovfl() const { return (bits >> 23) & 1; }  // conversions saturate
  bool gpr_index_enabled() const { return (bits >> 27) & 1; }
};

class WorkgroupContext;  // memory, LDS and launch state; only memory handlers look into it

class alignas(64) Wave {
 public:
  enum class State : uint8_t { kRunning, kAtBarrier, kDone, kFailed };

  // Registers. The arrays are public: handlers are the instruction set.
  alignas(64) uint32_t vector[kVectorRows][kLanes];
  alignas(64) uint32_t scalar[kScalarEntries];
  Mode mode;
  uint32_t next_pc = 0;  // byte offset of the next instruction; branches set it
  State state = State::kRunning;
  Arch arch = Arch::kGfx942;
  WorkgroupContext* context = nullptr;
  int id_in_group = 0;

  // For the order of turns (launch/workgroup_runner.h).
  bool gives_up_turn = false;  // s_sleep sets it
  bool polled = false;         // since the last branch backward
  bool stored = false;         // likewise

  uint64_t exec() const { return Scalar64(kExec); }
  void set_exec(uint64_t value) { SetScalar64(kExec, value); }
  uint64_t vcc() const { return Scalar64(kVcc); }
  void set_vcc(uint64_t value) { SetScalar64(kVcc, value); }
  bool scc() const { return scalar[kScc] != 0; }
  void set_scc(bool value) { scalar[kScc] = value ? 1 : 0; }
  uint32_t m0() const { return scalar[kM0]; }

  uint64_t Scalar64(int index) const {
    uint64_t value;
    std::memcpy(&value, &scalar[index], sizeof(value));
    return value;
  }
  void SetScalar64(int index, uint64_t value) {
    std::memcpy(&scalar[index], &value, sizeof(value));
  }

  // A scalar operand or constant. A 32-bit register read as 64 bits is an error of the handler.
  uint32_t Read32(const Operand& operand) const {
    if (operand.is_constant()) return static_cast<uint32_t>(operand.constant);
    if (operand.index >= kVccz && operand.index <= kExecz) return ReadZeroFlag(operand.index);
    return scalar[operand.index];
  }
  uint64_t Read64(const Operand& operand) const {
    return operand.is_constant() ? operand.constant : Scalar64(operand.index);
  }
  void Write32(const Operand& operand, uint32_t value) { scalar[operand.index] = value; }
  void Write64(const Operand& operand, uint64_t value) { SetScalar64(operand.index, value); }

  // Stops the wave with an error; the launch returns it with kernel, pc and instruction added.
  // The first failure counts.
  void Fail(std::string message) {
    if (state == State::kFailed) return;
    state = State::kFailed;
    failure_ = std::move(message);
  }
  const std::string& failure() const { return failure_; }

 private:
  uint32_t ReadZeroFlag(int index) const {
    return index == kVccz ? (vcc() == 0 ? 1 : 0) : (exec() == 0 ? 1 : 0);
  }
  std::string failure_;
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_MACHINE_WAVE_H_
