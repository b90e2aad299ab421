#include "emulator/machine/vector_operand.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace lanewise::emulator {
namespace {

constexpr uint32_t kSign32 = 0x80000000u;

bool FlushesInput(const Mode& mode, LaneType type) {
  switch (type) {
    case LaneType::kF32:
      return !mode.denormal_in_f32();
    case LaneType::kF16:
    case LaneType::kF64:
      return !mode.denormal_in_f16_f64();
    default:
      return false;
  }
}

bool FlushesOutput(const Mode& mode, LaneType type) {
  switch (type) {
    case LaneType::kF32:
      return !mode.denormal_out_f32();
    case LaneType::kF16:
    case LaneType::kF64:
      return !mode.denormal_out_f16_f64();
    default:
      return false;
  }
}

// Denormals become zeros of their sign.
void Flush(LaneType type, uint32_t* lo, uint32_t* hi) {
  for (int l = 0; l < kLanes; ++l) {
    if (type == LaneType::kF32) {
      if ((lo[l] & 0x7f800000u) == 0) lo[l] &= kSign32;
    } else if (type == LaneType::kF16) {
      if ((lo[l] & 0x7c00u) == 0) lo[l] &= 0x8000u;
    } else if ((hi[l] & 0x7ff00000u) == 0) {
      hi[l] &= kSign32;
      lo[l] = 0;
    }
  }
}

void LoadOperand(const Wave& wave, const Operand& operand, bool wide, LaneScratch& scratch) {
  if (operand.is_vector()) {
    std::memcpy(scratch.lo, wave.vector[operand.index], sizeof(scratch.lo));
    if (wide) std::memcpy(scratch.hi, wave.vector[operand.index + 1], sizeof(scratch.hi));
    return;
  }
  const uint64_t value = wide ? wave.Read64(operand) : wave.Read32(operand);
  const auto lo = static_cast<uint32_t>(value);
  for (int l = 0; l < kLanes; ++l) scratch.lo[l] = lo;
  if (wide) {
    const auto hi = static_cast<uint32_t>(value >> 32);
    for (int l = 0; l < kLanes; ++l) scratch.hi[l] = hi;
  }
}

// row[l] = the value of the lane that lane l reads under the pattern; 0 where that one is inactive
// or missing.
void PermuteRow(const int8_t* lanes_from, const uint32_t* active, uint32_t* row) {
  alignas(64) uint32_t sources[kLanes];
  for (int l = 0; l < kLanes; ++l) sources[l] = row[l] & active[l];
  for (int l = 0; l < kLanes; ++l) {
    const int32_t from = lanes_from[l];
    const auto missing = static_cast<uint32_t>(from >> 31);
    row[l] = sources[from & (kLanes - 1)] & ~missing;
  }
}

// Source 0 of DPP. Whether a lane without a source is written at all is WriteMask's matter.
void PermuteLanes(const Wave& wave, const Modifiers& mod, bool wide, LaneScratch& scratch) {
  alignas(64) uint32_t active[kLanes];
  ExpandMask(wave.exec(), active);
  PermuteRow(mod.dpp_lanes_from, active, scratch.lo);
  if (wide) PermuteRow(mod.dpp_lanes_from, active, scratch.hi);
}

// The lanes that DPP's row and bank masks let through: bit r of the first is row r of 16 lanes, bit
// b of the second the b-th four lanes of each row.
uint64_t DppMaskedLanes(const Modifiers& mod) {
  uint64_t row = 0;
  for (int bank = 0; bank < 4; ++bank) {
    if (((mod.bank_mask >> bank) & 1) != 0) row |= uint64_t{0xf} << (4 * bank);
  }
  uint64_t lanes = 0;
  for (int r = 0; r < 4; ++r) {
    if (((mod.row_mask >> r) & 1) != 0) lanes |= row << (16 * r);
  }
  return lanes;
}

void SelectSdwa(SdwaSelect select, bool sign_extend, uint32_t* lo) {
  if (select == SdwaSelect::kDword) return;
  const bool word = select >= SdwaSelect::kWord0;
  const int shift = word ? 16 * (static_cast<int>(select) - 4) : 8 * static_cast<int>(select);
  const int width = word ? 16 : 8;
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t moved = lo[l] << (32 - width - shift);
    lo[l] = sign_extend ? static_cast<uint32_t>(static_cast<int32_t>(moved) >> (32 - width))
                        : moved >> (32 - width);
  }
}

void ApplySigns(LaneType type, bool abs, bool neg, uint32_t* lo, uint32_t* hi) {
  uint32_t* words = lo;
  uint32_t sign = kSign32;
  switch (type) {
    case LaneType::kF32:
    case LaneType::kF32Bits:
      break;
    case LaneType::kF16:
    case LaneType::kF16Bits:
      sign = 0x8000u;
      break;
    case LaneType::kF64:
    case LaneType::kF64Bits:
      words = hi;
      break;
    default:
      return;
  }
  for (int l = 0; l < kLanes; ++l) {
    if (abs) words[l] &= ~sign;
    if (neg) words[l] ^= sign;
  }
}

void NarrowTo16(LaneType type, bool high, uint32_t* lo) {
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t half = (high ? lo[l] >> 16 : lo[l]) & 0xffffu;
    lo[l] = type == LaneType::kI16 ? static_cast<uint32_t>(static_cast<int16_t>(half)) : half;
  }
}

// Output modifiers are not IEEE's: the hardware ignores them in IEEE mode and where results may be
// denormal, and makes -0 a +0.
bool MultipliesOutput(const Mode& mode, LaneType type) {
  return !mode.ieee() && FlushesOutput(mode, type);
}

template <typename Float, typename Get, typename Put>
void ApplyOutputModifiers(const Mode& mode, const Modifiers& mod, LaneType type, Get get, Put put) {
  const int omod = MultipliesOutput(mode, type) ? mod.omod : 0;
  const Float factor = omod == 1 ? 2 : omod == 2 ? 4 : Float(0.5);
  for (int l = 0; l < kLanes; ++l) {
    Float value = get(l);
    if (omod != 0) {
      value *= factor;
      if (value == 0) value = 0;
    }
    if (mod.clamp) {
      if (std::isnan(value)) {
        if (mode.dx10_clamp()) value = 0;
      } else {
        value = value > 0 ? (value < 1 ? value : Float(1)) : Float(0);
      }
    }
    put(l, value);
  }
}

void ModifyOutput(const Wave& wave, const Modifiers& mod, LaneType type, LaneScratch& r) {
  if (type == LaneType::kF32) {
    ApplyOutputModifiers<float>(
        wave.mode, mod, type, [&](int l) { return std::bit_cast<float>(r.lo[l]); },
        [&](int l, float v) { r.lo[l] = std::bit_cast<uint32_t>(v); });
  } else if (type == LaneType::kF64) {
    ApplyOutputModifiers<double>(
        wave.mode, mod, type,
        [&](int l) {
          return std::bit_cast<double>(static_cast<uint64_t>(r.hi[l]) << 32 | r.lo[l]);
        },
        [&](int l, double v) {
          const auto bits = std::bit_cast<uint64_t>(v);
          r.lo[l] = static_cast<uint32_t>(bits);
          r.hi[l] = static_cast<uint32_t>(bits >> 32);
        });
  } else if (type == LaneType::kF16) {
    // Exact in float: a half times 4 is far from float's limits, and the way back rounds once.
    ApplyOutputModifiers<float>(
        wave.mode, mod, type,
        [&](int l) {
          return static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(r.lo[l])));
        },
        [&](int l, float v) { r.lo[l] = std::bit_cast<uint16_t>(static_cast<_Float16>(v)); });
  }
}

void ClampRow(const Mode& mode, uint32_t* row) {
  for (int l = 0; l < kLanes; ++l) {
    const float value = std::bit_cast<float>(row[l]);
    const float number = value > 0 ? (value < 1 ? value : 1.0f) : 0.0f;
    const bool keep = std::isnan(value) && !mode.dx10_clamp();
    row[l] = keep ? row[l] : std::bit_cast<uint32_t>(number);
  }
}

// The destination word of one lane under SDWA's dst_sel and dst_unused.
uint32_t MergeSdwa(const Modifiers& mod, uint32_t old, uint32_t value) {
  if (mod.dst_sel == SdwaSelect::kDword) return value;
  const bool word = mod.dst_sel >= SdwaSelect::kWord0;
  const int index = static_cast<int>(mod.dst_sel) - (word ? 4 : 0);
  const int width = word ? 16 : 8;
  const int shift = index * width;
  const uint32_t ones = (1u << width) - 1;
  const uint32_t placed = (value & ones) << shift;
  switch (mod.dst_unused) {
    case SdwaUnused::kPad:
      return placed;
    case SdwaUnused::kPreserve:
      return (old & ~(ones << shift)) | placed;
    case SdwaUnused::kSignExtend:
      break;
  }
  const bool negative = ((value >> (width - 1)) & 1) != 0;
  const int above = shift + width;
  return negative && above < 32 ? placed | (0xffffffffu << above) : placed;
}

void Blend(uint32_t* row, const uint32_t* values, const uint32_t* words) {
  for (int l = 0; l < kLanes; ++l) row[l] = (values[l] & words[l]) | (row[l] & ~words[l]);
}

}  // namespace

LaneRows FetchRows(const Wave& wave, const Instruction& inst, int index, LaneType type,
                   LaneScratch& scratch) {
  const Operand& operand = inst.src[index];
  const bool wide = IsWide(type);
  const bool narrow = IsNarrow(type);
  const bool flush = FlushesInput(wave.mode, type);
  if (operand.is_vector() && !inst.has_input_modifiers && !flush && !narrow) {
    const uint32_t* row = wave.vector[operand.index];
    return {row, wide ? row + kLanes : nullptr};
  }
  LoadOperand(wave, operand, wide, scratch);
  bool high_half = false;
  if (inst.has_input_modifiers) {
    const Modifiers& mod = inst.mod;
    if (inst.encoding == Encoding::kDpp && index == 0) PermuteLanes(wave, mod, wide, scratch);
    if (inst.encoding == Encoding::kSdwa && index < 2) {
      const bool extend = mod.sext[index] || type == LaneType::kI16;
      SelectSdwa(mod.src_sel[index], extend, scratch.lo);
    }
    high_half = inst.encoding == Encoding::kVop3 && ((mod.op_sel >> index) & 1) != 0;
  }
  if (narrow) NarrowTo16(type, high_half, scratch.lo);
  if (inst.has_input_modifiers) {
    ApplySigns(type, (inst.mod.abs >> index) & 1, (inst.mod.neg >> index) & 1, scratch.lo,
               scratch.hi);
  }
  if (flush) Flush(type, scratch.lo, scratch.hi);
  return {scratch.lo, scratch.hi};
}

uint64_t WriteMask(const Wave& wave, const Instruction& inst) {
  const uint64_t exec = wave.exec();
  if (inst.encoding != Encoding::kDpp) return exec;
  const uint64_t mask = exec & DppMaskedLanes(inst.mod);
  if (inst.mod.bound_ctrl) return mask;
  // Whose source lane is active: the mask itself under the pattern.
  alignas(64) uint32_t active[kLanes];
  alignas(64) uint32_t sources[kLanes];
  ExpandMask(exec, active);
  std::memcpy(sources, active, sizeof(sources));
  PermuteRow(inst.mod.dpp_lanes_from, active, sources);
  return mask & PackMask(sources);
}

bool WritesDirectly(const Wave& wave, const Instruction& inst, LaneType type) {
  return wave.exec() == ~uint64_t{0} && !inst.has_output_modifiers &&
         !FlushesOutput(wave.mode, type);
}

void CommitRows(Wave& wave, const Instruction& inst, int index, LaneType type, uint64_t mask,
                const LaneScratch& result, bool keep_high) {
  const Operand& operand = inst.dst[index];
  LaneScratch modified;
  const LaneScratch* values = &result;
  const bool wide = IsWide(type);
  const bool narrow = IsNarrow(type);
  const bool flush = FlushesOutput(wave.mode, type);
  const bool sdwa = inst.encoding == Encoding::kSdwa;
  uint32_t* const row = wave.vector[operand.index];
  if (flush || narrow || inst.has_output_modifiers) {
    std::memcpy(modified.lo, result.lo, sizeof(modified.lo));
    if (wide) std::memcpy(modified.hi, result.hi, sizeof(modified.hi));
    if (inst.mod.omod != 0 || inst.mod.clamp) ModifyOutput(wave, inst.mod, type, modified);
    if (flush) Flush(type, modified.lo, modified.hi);
    if (narrow && !sdwa) {
      const bool to_high = inst.encoding == Encoding::kVop3 && (inst.mod.op_sel & 8) != 0;
      for (int l = 0; l < kLanes; ++l) {
        const uint32_t half = modified.lo[l] & 0xffffu;
        modified.lo[l] = to_high ? (row[l] & 0xffffu) | half << 16
                                 : (keep_high ? (row[l] & 0xffff0000u) | half : half);
      }
    }
    if (sdwa) {
      for (int l = 0; l < kLanes; ++l) modified.lo[l] = MergeSdwa(inst.mod, row[l], modified.lo[l]);
    }
    values = &modified;
  }
  alignas(64) uint32_t words[kLanes];
  ExpandMask(mask, words);
  Blend(row, values->lo, words);
  if (wide) Blend(row + kLanes, values->hi, words);
}

void CommitF32Pair(Wave& wave, const Instruction& inst, const LaneScratch& result) {
  LaneScratch modified;
  std::memcpy(&modified, &result, sizeof(modified));
  if (inst.mod.clamp) {
    for (uint32_t* row : {modified.lo, modified.hi}) ClampRow(wave.mode, row);
  }
  if (FlushesOutput(wave.mode, LaneType::kF32)) {
    Flush(LaneType::kF32, modified.lo, nullptr);
    Flush(LaneType::kF32, modified.hi, nullptr);
  }
  alignas(64) uint32_t words[kLanes];
  ExpandMask(wave.exec(), words);
  uint32_t* const row = wave.vector[inst.dst[0].index];
  Blend(row, modified.lo, words);
  Blend(row + kLanes, modified.hi, words);
}

void ExpandMask(uint64_t mask, uint32_t words[kLanes]) {
  for (int half = 0; half < 2; ++half) {
    const auto bits = static_cast<uint32_t>(mask >> (32 * half));
    for (int l = 0; l < 32; ++l) words[32 * half + l] = 0u - ((bits >> l) & 1u);
  }
}

uint64_t PackMask(const uint32_t words[kLanes]) {
  uint64_t mask = 0;
  for (int part = 0; part < 8; ++part) {
    uint32_t bits = 0;
    for (int l = 0; l < 8; ++l) bits |= (words[8 * part + l] & 1u) << l;
    mask |= static_cast<uint64_t>(bits) << (8 * part);
  }
  return mask;
}

}  // namespace lanewise::emulator
