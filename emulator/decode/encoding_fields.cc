#include "emulator/decode/encoding_fields.h"

#include <array>
#include <memory>
#include <mutex>

namespace lanewise::emulator {
namespace {

constexpr uint32_t Bits(uint32_t word, int high, int low) {
  return (word >> low) & ((1u << (high - low + 1)) - 1);
}
constexpr bool Bit(uint32_t word, int bit) { return ((word >> bit) & 1) != 0; }
constexpr int32_t SignExtend(uint32_t value, int width) {
  const uint32_t sign = 1u << (width - 1);
  return static_cast<int32_t>((value ^ sign) - sign);
}

// Values of a VOP1, VOP2 or VOPC source 0 that announce a second word.
constexpr uint32_t kSdwaSource = 249;
constexpr uint32_t kDppSource = 250;

using LaneTable = std::array<int8_t, 64>;

// The lane that each lane reads under a DPP control value, -1 for none.
LaneTable DppLanes(uint32_t ctrl) {
  LaneTable table;
  for (int lane = 0; lane < 64; ++lane) {
    const int row = lane & ~15;
    const int in_row = lane & 15;
    const int amount = static_cast<int>(ctrl & 15);
    int from = -1;
    if (ctrl <= 0xff) {  // quad_perm
      from = (lane & ~3) + static_cast<int>((ctrl >> (2 * (lane & 3))) & 3);
    } else if (ctrl >= 0x101 && ctrl <= 0x10f) {  // row_shl
      from = in_row + amount < 16 ? lane + amount : -1;
    } else if (ctrl >= 0x111 && ctrl <= 0x11f) {  // row_shr
      from = in_row >= amount ? lane - amount : -1;
    } else if (ctrl >= 0x121 && ctrl <= 0x12f) {  // row_ror
      from = row + ((in_row - amount) & 15);
    } else if (ctrl == 0x130) {  // wave_shl by 1
      from = lane + 1 < 64 ? lane + 1 : -1;
    } else if (ctrl == 0x134) {  // wave_rol by 1
      from = (lane + 1) & 63;
    } else if (ctrl == 0x138) {  // wave_shr by 1
      from = lane - 1;
    } else if (ctrl == 0x13c) {  // wave_ror by 1
      from = (lane - 1) & 63;
    } else if (ctrl == 0x140) {  // row_mirror
      from = row + 15 - in_row;
    } else if (ctrl == 0x141) {  // row_half_mirror
      from = (lane & ~7) + 7 - (lane & 7);
    } else if (ctrl == 0x142) {  // row_bcast:15
      from = row > 0 ? row - 1 : -1;
    } else if (ctrl == 0x143) {  // row_bcast:31
      from = lane >= 32 ? 31 : -1;
    } else if (ctrl >= 0x150 && ctrl <= 0x15f) {  // row_newbcast
      from = row + amount;
    }
    table[lane] = static_cast<int8_t>(from);
  }
  return table;
}

// One table a control value, made when first met and kept for good.
const int8_t* DppTable(uint32_t ctrl) {
  static std::mutex mutex;
  static auto* const kTables = new std::array<std::unique_ptr<LaneTable>, 512>();
  const std::lock_guard<std::mutex> lock(mutex);
  auto& table = (*kTables)[ctrl];
  if (table == nullptr) table = std::make_unique<LaneTable>(DppLanes(ctrl));
  return table->data();
}

void ReadVop3(const InstructionWords& words, const FieldContext& context, Modifiers& mod) {
  if (!context.has_scalar_result) {
    mod.abs = static_cast<uint8_t>(Bits(words.word[0], 10, 8));
    mod.op_sel = static_cast<uint8_t>(Bits(words.word[0], 14, 11));
  }
  mod.clamp = Bit(words.word[0], 15);
  mod.omod = static_cast<uint8_t>(Bits(words.word[1], 28, 27));
  mod.neg = static_cast<uint8_t>(Bits(words.word[1], 31, 29));
}

void ReadVop3p(const InstructionWords& words, Modifiers& mod) {
  mod.abs = static_cast<uint8_t>(Bits(words.word[0], 10, 8));
  mod.op_sel = static_cast<uint8_t>(Bits(words.word[0], 13, 11));
  mod.op_sel_hi =
      static_cast<uint8_t>(Bits(words.word[1], 28, 27) | Bits(words.word[0], 14, 14) << 2);
  mod.clamp = Bit(words.word[0], 15);
  mod.neg = static_cast<uint8_t>(Bits(words.word[1], 31, 29));
}

// Matrix instructions. A scaled one is two instructions in one: the first two words name the scales
// and, in op_sel and op_sel_hi, their bytes; the matrix part follows.
void ReadMatrix(const InstructionWords& words, int size, Modifiers& mod) {
  const bool scaled = size == 16;
  if (scaled) {
    mod.op_sel = static_cast<uint8_t>(Bits(words.word[0], 13, 11));
    mod.op_sel_hi = static_cast<uint8_t>(Bits(words.word[1], 28, 27));
  }
  const int at = scaled ? 2 : 0;
  mod.cbsz = static_cast<uint8_t>(Bits(words.word[at], 10, 8));
  mod.abid = static_cast<uint8_t>(Bits(words.word[at], 14, 11));
  mod.blgp = static_cast<uint8_t>(Bits(words.word[at + 1], 31, 29));
}

void ReadSdwa(const InstructionWords& words, Modifiers& mod) {
  const uint32_t word = words.word[1];
  // A comparison has no destination select: its scalar destination stands there.
  const bool is_compare = Bits(words.word[0], 31, 25) == 0x3e;
  if (!is_compare) {
    mod.dst_sel = static_cast<SdwaSelect>(Bits(word, 10, 8));
    mod.dst_unused = static_cast<SdwaUnused>(Bits(word, 12, 11));
    mod.clamp = Bit(word, 13);
    mod.omod = static_cast<uint8_t>(Bits(word, 15, 14));
  }
  mod.src_sel[0] = static_cast<SdwaSelect>(Bits(word, 18, 16));
  mod.src_sel[1] = static_cast<SdwaSelect>(Bits(word, 26, 24));
  mod.sext[0] = Bit(word, 19);
  mod.sext[1] = Bit(word, 27);
  mod.neg = static_cast<uint8_t>(Bits(word, 20, 20) | Bits(word, 28, 28) << 1);
  mod.abs = static_cast<uint8_t>(Bits(word, 21, 21) | Bits(word, 29, 29) << 1);
}

void ReadDpp(const InstructionWords& words, Modifiers& mod) {
  const uint32_t word = words.word[1];
  mod.dpp_ctrl = static_cast<uint16_t>(Bits(word, 16, 8));
  mod.dpp_lanes_from = DppTable(mod.dpp_ctrl);
  mod.bound_ctrl = Bit(word, 19);
  mod.neg = static_cast<uint8_t>(Bits(word, 20, 20) | Bits(word, 22, 22) << 1);
  mod.abs = static_cast<uint8_t>(Bits(word, 21, 21) | Bits(word, 23, 23) << 1);
  mod.bank_mask = static_cast<uint8_t>(Bits(word, 27, 24));
  mod.row_mask = static_cast<uint8_t>(Bits(word, 31, 28));
}

void ReadFlat(uint32_t word, MemoryFields& mem) {
  mem.segment = static_cast<MemoryFields::Segment>(Bits(word, 15, 14));
  const bool flat = mem.segment == MemoryFields::Segment::kFlat;
  mem.offset = flat ? static_cast<int32_t>(Bits(word, 11, 0)) : SignExtend(Bits(word, 12, 0), 13);
  mem.sc0 = Bit(word, 16);
  mem.nt = Bit(word, 17);
  mem.sc1 = Bit(word, 25);
}

void ReadMubuf(uint32_t word, MemoryFields& mem) {
  mem.offset = static_cast<int32_t>(Bits(word, 11, 0));
  mem.offen = Bit(word, 12);
  mem.idxen = Bit(word, 13);
  mem.sc0 = Bit(word, 14);
  mem.sc1 = Bit(word, 15);
  mem.lds = Bit(word, 16);
  mem.nt = Bit(word, 17);
}

void SetFlags(const FieldContext& context, Instruction& inst) {
  const Modifiers& mod = inst.mod;
  const bool signs = mod.neg != 0 || mod.abs != 0;
  switch (inst.encoding) {
    case Encoding::kVop3:
      inst.has_input_modifiers = signs || (mod.op_sel & 7) != 0;
      inst.has_output_modifiers = mod.omod != 0 || mod.clamp || (mod.op_sel & 8) != 0;
      break;
    case Encoding::kVop3p:
      inst.has_output_modifiers = !context.is_matrix && mod.clamp;
      break;
    case Encoding::kSdwa:
      inst.has_input_modifiers = true;
      inst.has_output_modifiers = mod.omod != 0 || mod.clamp || mod.dst_sel != SdwaSelect::kDword;
      break;
    case Encoding::kDpp:
      inst.has_input_modifiers = true;
      inst.has_output_modifiers = true;
      break;
    default:
      break;
  }
}

}  // namespace

Encoding EncodingOf(const InstructionWords& words) {
  const uint32_t word = words.word[0];
  if (!Bit(word, 31)) {
    const uint32_t source0 = Bits(word, 8, 0);
    if (source0 == kSdwaSource) return Encoding::kSdwa;
    if (source0 == kDppSource) return Encoding::kDpp;
    const uint32_t op = Bits(word, 30, 25);
    return op == 0x3f ? Encoding::kVop1 : op == 0x3e ? Encoding::kVopc : Encoding::kVop2;
  }
  if (Bits(word, 31, 30) == 2) {
    switch (Bits(word, 31, 23)) {
      case 0x17d:
        return Encoding::kSop1;
      case 0x17e:
        return Encoding::kSopc;
      case 0x17f:
        return Encoding::kSopp;
      default:
        return Bits(word, 31, 28) == 0xb ? Encoding::kSopk : Encoding::kSop2;
    }
  }
  switch (Bits(word, 31, 26)) {
    case 0x30:
      return Encoding::kSmem;
    case 0x34:
      return Bits(word, 31, 23) == 0x1a7 ? Encoding::kVop3p : Encoding::kVop3;
    case 0x36:
      return Encoding::kDs;
    case 0x37:
      return Encoding::kFlat;
    default:
      return Encoding::kMubuf;
  }
}

void ReadFields(const InstructionWords& words, const FieldContext& context, Instruction& inst) {
  const uint32_t word = words.word[0];
  Modifiers& mod = inst.mod;
  switch (inst.encoding) {
    case Encoding::kSopk:
    case Encoding::kSopp:
      inst.imm = static_cast<int16_t>(word & 0xffff);
      break;
    case Encoding::kSmem:
      inst.mem.offset = SignExtend(Bits(words.word[1], 20, 0), 21);
      break;
    case Encoding::kVop3:
      ReadVop3(words, context, mod);
      break;
    case Encoding::kVop3p:
      if (context.is_matrix) {
        ReadMatrix(words, inst.size, mod);
      } else {
        ReadVop3p(words, mod);
      }
      break;
    case Encoding::kSdwa:
      ReadSdwa(words, mod);
      break;
    case Encoding::kDpp:
      ReadDpp(words, mod);
      break;
    case Encoding::kDs:
      inst.mem.offset0 = static_cast<uint8_t>(Bits(word, 7, 0));
      inst.mem.offset1 = static_cast<uint8_t>(Bits(word, 15, 8));
      inst.mem.offset = static_cast<int32_t>(Bits(word, 15, 0));
      break;
    case Encoding::kFlat:
      ReadFlat(word, inst.mem);
      break;
    case Encoding::kMubuf:
      ReadMubuf(word, inst.mem);
      break;
    default:
      break;
  }
  SetFlags(context, inst);
}

}  // namespace lanewise::emulator
