#ifndef LANEWISE_EMULATOR_INSTRUCTION_H_
#define LANEWISE_EMULATOR_INSTRUCTION_H_

// A machine instruction as the emulator executes it: decoded once, then run many times.
//
// The decoder makes all encodings of one operation alike, so that a handler is written once:
//   - v_add_f32 as e32, e64, SDWA and DPP has the same operands at the same places;
//   - VCC, where an encoding implies it (v_cndmask_b32_e32, v_addc_co_u32_e32, v_cmp_*_e32,
//     v_div_fmas), stands among the operands as the encodings with a free choice have it;
//   - the tied "old" register of DPP is dropped: a lane that DPP turns off keeps its destination.
//     A true third source (v_fmac, v_mac, v_writelane) stays a source.
// Operands stand in the order of the assembler's text: results first, then sources.
// Modifiers come from the instruction words at the bit positions of the ISA manuals.

#include <cstdint>
#include <optional>

namespace lanewise::emulator {

class Wave;
struct Instruction;

// Executes one instruction for all 64 lanes. A fault is reported through Wave::Fail.
using Handler = void (*)(Wave& wave, const Instruction& inst);

struct Operand {
  enum class Kind : uint8_t {
    kNone,      // absent, or "off"
    kVector,    // rows index .. index + dwords - 1 of the vector file (see wave.h)
    kScalar,    // entries index .. index + dwords - 1 of the scalar file (see wave.h)
    kConstant,  // inline constant or literal, already widened to the operand's type by the decoder
  };
  Kind kind = Kind::kNone;
  uint8_t dwords = 0;     // registers only
  uint16_t index = 0;     // registers only
  uint64_t constant = 0;  // kConstant: the bits of an f16, f32, f64 or integer, as the type is

  bool is_vector() const { return kind == Kind::kVector; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_constant() const { return kind == Kind::kConstant; }
};

enum class Encoding : uint8_t {
  kSop1,
  kSop2,
  kSopc,
  kSopk,
  kSopp,
  kSmem,
  kVop1,
  kVop2,
  kVopc,
  kVop3,
  kVop3p,
  kSdwa,
  kDpp,
  kDs,
  kFlat,
  kMubuf,
};

// What a byte or word select of SDWA means: the ISA's SEL values.
enum class SdwaSelect : uint8_t { kByte0, kByte1, kByte2, kByte3, kWord0, kWord1, kDword };
// What SDWA does with the bits of the destination that dst_sel leaves out.
enum class SdwaUnused : uint8_t { kPad, kSignExtend, kPreserve };

// Bit i of a mask belongs to source i.
struct Modifiers {
  uint8_t neg = 0;        // VOP3, SDWA, DPP; for VOP3P the low half's sign (neg_lo)
  uint8_t abs = 0;        // VOP3, SDWA, DPP; for VOP3P the high half's sign (neg_hi)
  uint8_t op_sel = 0;     // VOP3: bit 3 is the destination; VOP3P: the low result's halves
  uint8_t op_sel_hi = 0;  // VOP3P: the high result's halves
  uint8_t omod = 0;       // 0 none, 1 times 2, 2 times 4, 3 divided by 2
  bool clamp = false;
  // MFMA
  uint8_t cbsz = 0, abid = 0, blgp = 0;
  // SDWA
  SdwaSelect dst_sel = SdwaSelect::kDword;
  SdwaUnused dst_unused = SdwaUnused::kPad;
  SdwaSelect src_sel[2] = {SdwaSelect::kDword, SdwaSelect::kDword};
  bool sext[2] = {false, false};
  // DPP; lanes_from is the source lane of each lane, -1 where the pattern leaves the row
  const int8_t* dpp_lanes_from = nullptr;
  uint16_t dpp_ctrl = 0;
  uint8_t row_mask = 0xf, bank_mask = 0xf;
  bool bound_ctrl = false;
};

// Fields of memory instructions (SMEM, DS, FLAT, MUBUF).
struct MemoryFields {
  int32_t offset = 0;                         // bytes; signed for FLAT and SMEM. DS: offset0
  uint8_t offset0 = 0, offset1 = 0;           // DS: the two 8-bit offsets
  bool sc0 = false, sc1 = false, nt = false;  // sc0: an atomic returns the value before it
  bool lds = false;                   // the destination is LDS (global-to-LDS, buffer ... lds)
  bool offen = false, idxen = false;  // MUBUF
  enum class Segment : uint8_t { kFlat, kScratch, kGlobal } segment = Segment::kFlat;
};

// What the counters call an instruction.
enum class InstructionClass : uint8_t {
  kScalar,
  kBranch,
  kWait,
  kBarrier,
  kScalarMemory,
  kVector,
  kVectorTranscendental,
  kMatrix,
  kCrossLane,
  kLds,
  kGlobalLoad,
  kGlobalStore,
  kAtomic,
  kScratch,
  kOther,
  kCount,
};

// What becomes of source bits that were never written (see checker.h).
enum class UndefinedRule : uint8_t {
  kFails,   // their use is an error
  kCopies,  // they make the same bits of the result undefined: moves
  kSelect,  // only those of the chosen source do: v_cndmask, s_cselect
  kAnd,     // a 0 on the other side hides them: bitwise scalar operations on lane masks
  kOr,      // a 1 does
  kXor,     // nothing does
  kAndNot,  // as kAnd and kOr, the second source inverted
  kOrNot,
};

// Of which lanes an instruction uses its vector source, and of which it writes the result.
enum class LaneRule : uint8_t {
  kActive,      // those that EXEC (or DPP's pattern) names
  kAll,         // whatever EXEC says: matrix instructions
  kOneRead,     // v_readlane: reads the lane that source 1 names
  kFirstRead,   // v_readfirstlane: reads the first active lane
  kOneWritten,  // v_writelane: writes the lane that source 1 names
};

// Which bits of its scalar sources a result depends on.
enum class ScalarRule : uint8_t {
  kAllBits,
  kLastIsLaneMask,  // the last source, where it has 64 bits, is a bit a lane: active lanes' matter
  kActiveBits,      // those where EXEC has a 1: s_and_saveexec
  kInactiveBits,    // those where EXEC has a 0: s_or_saveexec
};

// What is to be known of an instruction beside its handler, which it is registered with
// (isa/dispatch.h). The defaults are right for most.
struct Traits {
  std::optional<InstructionClass> klass = std::nullopt;  // as the encoding says where there is none
  UndefinedRule undefined = UndefinedRule::kFails;
  LaneRule lanes = LaneRule::kActive;
  ScalarRule scalars = ScalarRule::kAllBits;
  // A part of the destination stays as it is, and may be undefined: LLVM lists it as a tied source.
  bool keeps_rest = false;
  // Source 2 is a 64-bit addend of which nobody looks at the upper half where the compiler has done
  // a 32-bit multiply-add by the 64-bit one.
  bool upper_addend_may_be_undefined = false;
  bool to_lds = false;        // a global-to-LDS load by its mnemonic
  bool order_shows = false;   // atomics whose results tell in which order workgroups ran
  bool calls = false;         // may lead into another function
  uint8_t matrix_passes = 0;  // for two formats below 8 bits, twice that otherwise; 0: ask LLVM
};

struct Instruction {
  Handler handler = nullptr;
  uint32_t pc = 0;   // byte offset from the start of the code object's text
  uint8_t size = 4;  // bytes
  Encoding encoding = Encoding::kSopp;
  InstructionClass klass = InstructionClass::kOther;
  bool has_output_modifiers = false;  // omod, clamp, SDWA destination select or DPP
  bool has_input_modifiers = false;   // neg, abs, op_sel, SDWA source select or DPP
  uint8_t kept_source = 255;  // the source that is the rest of the destination (Traits::keeps_rest)
  bool order_shows = false;   // executed, it may tell in which order workgroups ran
  bool polls = false;         // may be there to see what another wave or workgroup stores
  bool stores = false;        // to memory that others can see
  Traits traits;
  uint16_t matrix_cycles = 0;  // matrix instructions: cycles of the matrix core
  uint8_t dst_count = 0;
  uint8_t src_count = 0;
  Operand dst[3];
  Operand src[6];
  Modifiers mod;
  MemoryFields mem;
  int32_t imm = 0;            // SOPK and SOPP: simm16, sign-extended
  const char* mnemonic = "";  // base mnemonic, e.g. "v_add_f32"; lives as long as the program
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_INSTRUCTION_H_
