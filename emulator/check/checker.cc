#include "emulator/check/checker.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "emulator/machine/vector_operand.h"

namespace lanewise::emulator {
namespace {

constexpr uint64_t kEveryLane = ~uint64_t{0};

bool IsMemoryStore(const Instruction& inst) {
  return inst.klass == InstructionClass::kGlobalStore ||
         (inst.klass == InstructionClass::kScratch && inst.dst_count == 0);
}

// Lanes whose value of a vector source the instruction uses.
uint64_t LanesRead(const Wave& wave, const Instruction& inst, int source) {
  const uint64_t exec = wave.exec();
  if (inst.encoding == Encoding::kDpp) {
    const uint64_t written = WriteMask(wave, inst);
    if (source != 0) return written;
    uint64_t lanes = 0;
    for (int l = 0; l < kLanes; ++l) {
      const int from = inst.mod.dpp_lanes_from[l];
      if (((written >> l) & 1) != 0 && from >= 0) lanes |= uint64_t{1} << from;
    }
    return lanes & exec;
  }
  switch (inst.traits.lanes) {
    case LaneRule::kActive:
      return exec;
    case LaneRule::kAll:
      return kEveryLane;
    case LaneRule::kOneRead:
      return uint64_t{1} << (wave.Read32(inst.src[1]) & 63);
    case LaneRule::kFirstRead:
      return exec == 0 ? 1 : exec & (~exec + 1);
    case LaneRule::kOneWritten:  // the vector source is the tied destination
      return 0;
  }
  return exec;
}

void FailUndefined(Wave& wave, const WaveShadow& shadow, int row, uint64_t lanes) {
  wave.Fail(absl::StrCat("reads ", VectorName(row), " of lane ", std::countr_zero(lanes),
                         NeverWritten(shadow, row)));
}

bool VectorPending(const WaveShadow& shadow, int row) {
  return shadow.vector_vm[row] > shadow.vm_completed ||
         shadow.vector_lgkm[row] > shadow.lgkm_completed;
}

void FailPending(Wave& wave, const WaveShadow& shadow, int row, bool reads) {
  const bool vm = shadow.vector_vm[row] > shadow.vm_completed;
  wave.Fail(absl::StrCat(reads ? "reads " : "overwrites ", VectorName(row),
                         " before the load into it was awaited (s_waitcnt ",
                         vm ? "vmcnt" : "lgkmcnt", ")"));
}

// Scalar entries outside the register file proper (SCC, VCCZ, apertures) are always there.
bool IsRegister(int index) { return index <= kExec + 1; }

// Bits of a scalar operand that were never written. A constant, SCC and the like are all there.
uint64_t UndefinedBits(const WaveShadow& shadow, const Operand& operand) {
  if (!operand.is_scalar()) return 0;
  uint64_t undefined = 0;
  for (int i = 0; i < operand.dwords && i < 2; ++i) {
    const int index = operand.index + i;
    if (IsRegister(index)) undefined |= uint64_t{~shadow.scalar_defined[index]} << (32 * i);
  }
  return undefined;
}

uint64_t Bits(const Wave& wave, const Operand& operand) {
  if (operand.is_constant()) return operand.constant;
  return operand.dwords == 2 ? wave.Read64(operand) : wave.Read32(operand);
}

// Whether a 64-bit scalar source is a bit a lane, of which only the active lanes' matter.
bool IsLaneMask(const Instruction& inst, int source) {
  return inst.traits.scalars == ScalarRule::kLastIsLaneMask && source + 1 == inst.src_count &&
         inst.src[source].dwords == 2;
}

// The bits of a scalar source that the result depends on.
uint64_t BitsThatMatter(const Wave& wave, const Instruction& inst, int source) {
  switch (inst.traits.scalars) {
    case ScalarRule::kAllBits:
      break;
    case ScalarRule::kLastIsLaneMask:
      if (IsLaneMask(inst, source)) return wave.exec();
      break;
    case ScalarRule::kActiveBits:
      return wave.exec();
    case ScalarRule::kInactiveBits:
      return ~wave.exec();
  }
  return ~uint64_t{0};
}

// The undefined bits that a move, a select or a bitwise operation hands on.
uint64_t UndefinedResult(const Wave& wave, const WaveShadow& shadow, const Instruction& inst) {
  const Operand& a = inst.src[0];
  const Operand& b = inst.src[1];
  const uint64_t undefined_a = UndefinedBits(shadow, a);
  if (inst.traits.undefined == UndefinedRule::kCopies) return undefined_a;
  const uint64_t undefined_b = UndefinedBits(shadow, b);
  if (inst.traits.undefined == UndefinedRule::kSelect)
    return wave.scc() ? undefined_a : undefined_b;
  const uint64_t zeros_hide_a = ~undefined_b & ~Bits(wave, b);  // where b is a defined 0
  const uint64_t ones_hide_a = ~undefined_b & Bits(wave, b);
  const uint64_t zeros_hide_b = ~undefined_a & ~Bits(wave, a);
  const uint64_t ones_hide_b = ~undefined_a & Bits(wave, a);
  switch (inst.traits.undefined) {
    case UndefinedRule::kAnd:
      return (undefined_a & ~zeros_hide_a) | (undefined_b & ~zeros_hide_b);
    case UndefinedRule::kOr:
      return (undefined_a & ~ones_hide_a) | (undefined_b & ~ones_hide_b);
    case UndefinedRule::kAndNot:
      return (undefined_a & ~ones_hide_a) | (undefined_b & ~zeros_hide_b);
    case UndefinedRule::kOrNot:
      return (undefined_a & ~zeros_hide_a) | (undefined_b & ~ones_hide_b);
    default:
      return undefined_a | undefined_b;
  }
}

void CheckScalarWaits(Wave& wave, const WaveShadow& shadow, const Operand& operand, bool reads) {
  for (int i = 0; i < operand.dwords; ++i) {
    const int index = operand.index + i;
    if (!IsRegister(index)) return;
    if (shadow.scalar_lgkm[index] <= shadow.lgkm_completed) continue;
    wave.Fail(absl::StrCat(reads ? "reads " : "overwrites ", ScalarName(index),
                           " before the load into it was awaited (s_waitcnt lgkmcnt)"));
    return;
  }
}

// A scalar source of an instruction that must not read undefined bits.
void CheckScalarDefined(Wave& wave, const WaveShadow& shadow, const Instruction& inst, int source,
                        uint32_t dwords_used) {
  const Operand& operand = inst.src[source];
  const uint64_t matter = BitsThatMatter(wave, inst, source);
  for (int i = 0; i < operand.dwords; ++i) {
    const int index = operand.index + i;
    if (((dwords_used >> i) & 1) == 0 || !IsRegister(index)) continue;
    const auto bits = static_cast<uint32_t>(i < 2 ? matter >> (32 * i) : ~0u);
    const uint32_t undefined = ~shadow.scalar_defined[index] & bits;
    if (undefined == 0) continue;
    const bool partly = shadow.scalar_defined[index] != 0;
    wave.Fail(absl::StrCat("reads ", ScalarName(index), partly ? ", of which bit " : "",
                           partly ? absl::StrCat(std::countr_zero(undefined)) : "",
                           partly ? " was never written" : ", which was never written"));
    return;
  }
}

// Whether the instruction uses dword `i` of a source. A packed pair of floats takes one dword of
// each source for its low and one for its high result, as op_sel and op_sel_hi say.
bool UsesDword(const Instruction& inst, int source, int i) {
  if (inst.encoding != Encoding::kVop3p || inst.klass == InstructionClass::kMatrix ||
      inst.src[source].dwords != 2) {
    return true;
  }
  return ((inst.mod.op_sel >> source) & 1) == i || ((inst.mod.op_sel_hi >> source) & 1) == i;
}

void CheckVectorSource(Wave& wave, WaveShadow& shadow, const Instruction& inst, int source,
                       bool undefined_fails) {
  const Operand& operand = inst.src[source];
  const bool waits = (wave.context->checks & kCheckWaits) != 0;
  uint64_t lanes = 0;
  bool have_lanes = false;
  for (int i = 0; i < operand.dwords; ++i) {
    if (!UsesDword(inst, source, i)) continue;
    const int row = operand.index + i;
    if (waits && VectorPending(shadow, row)) return FailPending(wave, shadow, row, true);
    // Bytes of a register are not followed: what is written in part counts as written.
    if (source == inst.kept_source || shadow.defined[row] == kEveryLane) continue;
    if (!have_lanes) {
      lanes = LanesRead(wave, inst, source);
      have_lanes = true;
    }
    const uint64_t undefined = lanes & ~shadow.defined[row];
    if (undefined == 0) continue;
    const bool only_upper = source == 2 && i == 1 && inst.traits.upper_addend_may_be_undefined;
    if (undefined_fails && !only_upper) return FailUndefined(wave, shadow, row, undefined);
    // v_cndmask takes source 1 where the mask has a 1, else source 0.
    uint64_t taken = undefined;
    if (inst.traits.undefined == UndefinedRule::kSelect) {
      const uint64_t mask = wave.Read64(inst.src[2]);
      taken &= source == 0 ? ~mask : mask;
    }
    // The lanes that take the value, which under DPP are not those that hold it.
    if (inst.encoding == Encoding::kDpp && source == 0) {
      uint64_t takers = 0;
      for (int l = 0; l < kLanes; ++l) {
        const int from = inst.mod.dpp_lanes_from[l];
        if (from >= 0 && ((undefined >> from) & 1) != 0) takers |= uint64_t{1} << l;
      }
      shadow.undefined_result[std::min(i, 3)] |= takers;
    } else {
      shadow.undefined_result[std::min(i, 3)] |= taken;
    }
  }
}

bool WritesByVm(const Instruction& inst) {
  return inst.encoding == Encoding::kFlat || inst.encoding == Encoding::kMubuf;
}

bool WritesByLgkm(const Instruction& inst) {
  return inst.encoding == Encoding::kDs || inst.encoding == Encoding::kSmem ||
         (inst.encoding == Encoding::kFlat && inst.mem.segment == MemoryFields::Segment::kFlat);
}

}  // namespace

std::string VectorName(int row) {
  return row < kFirstAccumulator ? absl::StrCat("v", row)
                                 : absl::StrCat("a", row - kFirstAccumulator);
}

std::string NeverWritten(const WaveShadow& shadow, int row) {
  const uint32_t origin = shadow.lds_origin[row];
  if (origin == 0) return ", which was never written";
  return absl::StrCat(", read from LDS where byte ", origin - 1, " was never written");
}

std::string ScalarName(int index) {
  switch (index) {
    case kVcc:
      return "vcc_lo";
    case kVcc + 1:
      return "vcc_hi";
    case kM0:
      return "m0";
    case kExec:
      return "exec_lo";
    case kExec + 1:
      return "exec_hi";
    default:
      return index >= 108 && index < 124 ? absl::StrCat("ttmp", index - 108)
                                         : absl::StrCat("s", index);
  }
}

void ResetShadow(WaveShadow& shadow) {
  std::memset(shadow.defined, 0, sizeof(shadow.defined));
  std::memset(shadow.scalar_defined, 0, sizeof(shadow.scalar_defined));
  std::memset(shadow.vector_vm, 0, sizeof(shadow.vector_vm));
  std::memset(shadow.vector_lgkm, 0, sizeof(shadow.vector_lgkm));
  std::memset(shadow.scalar_lgkm, 0, sizeof(shadow.scalar_lgkm));
  std::memset(shadow.undefined_result, 0, sizeof(shadow.undefined_result));
  std::memset(shadow.lds_origin, 0, sizeof(shadow.lds_origin));
  shadow.undefined_scalar = 0;
  shadow.unwritten_read = 0;
  shadow.vm_issued = shadow.vm_completed = 0;
  shadow.lgkm_issued = shadow.lgkm_completed = shadow.last_scalar_load = 0;
  std::fill(shadow.scratch_defined.begin(), shadow.scratch_defined.end(), uint8_t{0});
}

void CheckBefore(Wave& wave, const Instruction& inst) {
  WaveShadow& shadow = *wave.context->ShadowOf(wave);
  const bool uninitialised = (wave.context->checks & kCheckUninitialised) != 0;
  const bool waits = (wave.context->checks & kCheckWaits) != 0;
  const bool undefined_fails = uninitialised && inst.traits.undefined == UndefinedRule::kFails;
  const bool is_store = IsMemoryStore(inst);
  for (int i = 0; i < inst.src_count; ++i) {
    const Operand& operand = inst.src[i];
    if (operand.is_vector()) {
      // Stored data is the handler's to check: it knows whether it goes to scratch.
      const bool fails = undefined_fails && !(is_store && i == 1);
      CheckVectorSource(wave, shadow, inst, i, fails);
    } else if (operand.is_scalar()) {
      if (waits) CheckScalarWaits(wave, shadow, operand, true);
      if (undefined_fails || (uninitialised && IsLaneMask(inst, i))) {
        const uint32_t used =
            (UsesDword(inst, i, 0) ? 1u : 0u) | (UsesDword(inst, i, 1) ? ~1u : 0u);
        CheckScalarDefined(wave, shadow, inst, i, used);
      }
    }
    if (wave.state == Wave::State::kFailed) return;
  }
  if (uninitialised && !undefined_fails && inst.dst_count > 0 && inst.dst[0].is_scalar() &&
      !inst.src[0].is_vector()) {
    shadow.undefined_scalar = UndefinedResult(wave, shadow, inst);
    if (shadow.undefined_scalar != 0 && inst.dst[0].index == kExec) {
      wave.Fail(absl::StrCat("makes bit ", std::countr_zero(shadow.undefined_scalar),
                             " of exec of bits that were never written"));
      return;
    }
  }
  if (!waits) return;
  for (int i = 0; i < inst.dst_count; ++i) {
    const Operand& operand = inst.dst[i];
    if (operand.is_scalar()) CheckScalarWaits(wave, shadow, operand, false);
    if (!operand.is_vector()) continue;
    for (int d = 0; d < operand.dwords; ++d) {
      if (!VectorPending(shadow, operand.index + d)) continue;
      // Loads return in order: a second one into the same register is no hazard.
      if (WritesByVm(inst) && shadow.vector_lgkm[operand.index + d] <= shadow.lgkm_completed) {
        continue;
      }
      // So do LDS operations.
      if (inst.encoding == Encoding::kDs &&
          shadow.vector_vm[operand.index + d] <= shadow.vm_completed) {
        continue;
      }
      FailPending(wave, shadow, operand.index + d, false);
      return;
    }
  }
}

void NoteAfter(Wave& wave, const Instruction& inst) {
  WaveShadow& shadow = *wave.context->ShadowOf(wave);
  const bool vm = WritesByVm(inst);
  const bool lgkm = WritesByLgkm(inst);
  if (vm) {
    ++shadow.vm_issued;
    // Issue stalls where the counter is full.
    const uint32_t most = TraitsOf(wave.arch).vm_outstanding;
    if (shadow.vm_issued > most) {
      shadow.vm_completed = std::max(shadow.vm_completed, shadow.vm_issued - most);
    }
  }
  if (lgkm) {
    ++shadow.lgkm_issued;
    if (inst.encoding == Encoding::kSmem) shadow.last_scalar_load = shadow.lgkm_issued;
  }
  for (int i = 0; i < inst.dst_count; ++i) {
    const Operand& operand = inst.dst[i];
    if (operand.is_scalar()) {
      // v_readlane and v_readfirstlane: of a lane that was never written.
      const bool from_undefined_lane = shadow.undefined_result[0] != 0;
      for (int d = 0; d < operand.dwords; ++d) {
        const int index = operand.index + d;
        const auto undefined =
            static_cast<uint32_t>(d < 2 ? shadow.undefined_scalar >> (32 * d) : 0);
        shadow.scalar_defined[index] = from_undefined_lane ? 0 : ~undefined;
        shadow.scalar_lgkm[index] = lgkm ? shadow.lgkm_issued : 0;
      }
      continue;
    }
    if (!operand.is_vector()) continue;
    uint64_t lanes = inst.traits.lanes == LaneRule::kAll ? kEveryLane : wave.exec();
    if (inst.encoding == Encoding::kDpp) lanes = WriteMask(wave, inst);
    // A move or v_writelane of a scalar that was never written. One that is written in part counts
    // as written from here on: lanes have no bits.
    const bool copies_scalar = inst.traits.undefined == UndefinedRule::kCopies &&
                               static_cast<uint32_t>(UndefinedBits(shadow, inst.src[0])) == ~0u;
    if (inst.traits.lanes == LaneRule::kOneWritten) {
      lanes = uint64_t{1} << (wave.Read32(inst.src[1]) & 63);
    }
    for (int d = 0; d < operand.dwords; ++d) {
      const int row = operand.index + d;
      uint64_t undefined = shadow.undefined_result[std::min(d, 3)];
      if (copies_scalar) undefined = ~uint64_t{0};
      shadow.defined[row] = (shadow.defined[row] | lanes) & ~(undefined & lanes);
      if (!lgkm || undefined == 0) shadow.lds_origin[row] = 0;
      shadow.vector_vm[row] = vm ? shadow.vm_issued : 0;
      shadow.vector_lgkm[row] = lgkm ? shadow.lgkm_issued : 0;
    }
  }
  std::memset(shadow.undefined_result, 0, sizeof(shadow.undefined_result));
  shadow.undefined_scalar = 0;
}

void NoteWait(Wave& wave, uint32_t vmcnt, uint32_t lgkmcnt) {
  WaveShadow* shadow = wave.context->ShadowOf(wave);
  if (shadow == nullptr) return;
  if (shadow->vm_issued > vmcnt) {
    shadow->vm_completed = std::max(shadow->vm_completed, shadow->vm_issued - vmcnt);
  }
  // Beside an outstanding scalar load, which may return out of order, no count but 0 says which
  // of them is there.
  const bool scalar_outstanding = shadow->last_scalar_load > shadow->lgkm_completed;
  if (shadow->lgkm_issued > lgkmcnt && (lgkmcnt == 0 || !scalar_outstanding)) {
    shadow->lgkm_completed = std::max(shadow->lgkm_completed, shadow->lgkm_issued - lgkmcnt);
  }
  std::vector<LdsShadow::Arriving>& arriving = wave.context->lds_shadow.arriving;
  std::erase_if(arriving, [&](const LdsShadow::Arriving& entry) {
    return entry.wave == wave.id_in_group && entry.vm_sequence <= shadow->vm_completed;
  });
}

}  // namespace lanewise::emulator
