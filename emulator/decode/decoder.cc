#include "emulator/decode/decoder.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "emulator/decode/encoding_fields.h"
#include "emulator/decode/llvm_target.h"
#include "emulator/isa/dispatch.h"
#include "emulator/machine/wave.h"
#include "emulator/memory/apertures.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/Support/raw_ostream.h"

namespace lanewise::emulator {
namespace {

// LLVM's register encodings of this target: the ISA's number in the low byte, vector registers and
// accumulators marked above.
constexpr unsigned kVectorFlag = 1u << 10;
constexpr unsigned kAccumulatorFlag = 1u << 11;

void FailUnknown(Wave& wave, const Instruction& inst) {
  wave.Fail(absl::StrCat("the emulator has no handler for ", inst.mnemonic));
}

void FailNoInstruction(Wave& wave, const Instruction& /*inst*/) {
  wave.Fail("these bytes are no instruction of this chip");
}

// Mnemonics outlive every program: there are a few thousand at most.
const char* Intern(std::string_view text) {
  static std::mutex mutex;
  static auto* const kTexts = new std::set<std::string, std::less<>>();
  const std::lock_guard<std::mutex> lock(mutex);
  return kTexts->emplace(text).first->c_str();
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool StartsWith(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

InstructionClass ClassOf(Encoding encoding, std::string_view mnemonic, const MemoryFields& mem) {
  switch (encoding) {
    case Encoding::kSopp:
      if (StartsWith(mnemonic, "s_waitcnt")) return InstructionClass::kWait;
      if (mnemonic == "s_barrier") return InstructionClass::kBarrier;
      if (Contains(mnemonic, "branch")) return InstructionClass::kBranch;
      return InstructionClass::kOther;
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopc:
    case Encoding::kSopk:
      return InstructionClass::kScalar;
    case Encoding::kSmem:
      return InstructionClass::kScalarMemory;
    case Encoding::kDs:
      return Contains(mnemonic, "permute") || Contains(mnemonic, "swizzle")
                 ? InstructionClass::kCrossLane
                 : InstructionClass::kLds;
    case Encoding::kFlat:
      if (mem.segment == MemoryFields::Segment::kScratch) return InstructionClass::kScratch;
      [[fallthrough]];
    case Encoding::kMubuf:
      if (Contains(mnemonic, "_atomic")) return InstructionClass::kAtomic;
      if (Contains(mnemonic, "_store")) return InstructionClass::kGlobalStore;
      if (Contains(mnemonic, "_load")) return InstructionClass::kGlobalLoad;
      return InstructionClass::kOther;
    default:
      break;
  }
  if (Contains(mnemonic, "mfma") || Contains(mnemonic, "smfmac")) return InstructionClass::kMatrix;
  if (encoding == Encoding::kDpp || Contains(mnemonic, "lane")) return InstructionClass::kCrossLane;
  for (std::string_view part : {"_rcp_", "_rsq_", "_sqrt_", "_exp_", "_log_", "_sin_", "_cos_"}) {
    if (Contains(mnemonic, part)) return InstructionClass::kVectorTranscendental;
  }
  return InstructionClass::kVector;
}

UndefinedRule UndefinedRuleOf(std::string_view mnemonic) {
  struct Entry {
    std::string_view mnemonic;
    UndefinedRule rule;
  };
  constexpr Entry kRules[] = {
      {"v_mov_b32", UndefinedRule::kCopies},
      {"v_mov_b64", UndefinedRule::kCopies},
      {"v_pk_mov_b32", UndefinedRule::kCopies},
      {"v_swap_b32", UndefinedRule::kCopies},
      {"v_accvgpr_read_b32", UndefinedRule::kCopies},
      {"v_accvgpr_write_b32", UndefinedRule::kCopies},
      {"v_accvgpr_mov_b32", UndefinedRule::kCopies},
      {"v_readlane_b32", UndefinedRule::kCopies},
      {"v_readfirstlane_b32", UndefinedRule::kCopies},
      {"v_writelane_b32", UndefinedRule::kCopies},
      {"v_cndmask_b32", UndefinedRule::kSelect},
      {"s_mov_b32", UndefinedRule::kCopies},
      {"s_mov_b64", UndefinedRule::kCopies},
      {"s_not_b32", UndefinedRule::kCopies},
      {"s_not_b64", UndefinedRule::kCopies},
      {"s_cselect_b32", UndefinedRule::kSelect},
      {"s_cselect_b64", UndefinedRule::kSelect},
      {"s_and_b32", UndefinedRule::kAnd},
      {"s_and_b64", UndefinedRule::kAnd},
      {"s_nand_b64", UndefinedRule::kAnd},
      {"s_andn2_b32", UndefinedRule::kAndNot},
      {"s_andn2_b64", UndefinedRule::kAndNot},
      {"s_or_b32", UndefinedRule::kOr},
      {"s_or_b64", UndefinedRule::kOr},
      {"s_nor_b64", UndefinedRule::kOr},
      {"s_orn2_b32", UndefinedRule::kOrNot},
      {"s_orn2_b64", UndefinedRule::kOrNot},
      {"s_xor_b32", UndefinedRule::kXor},
      {"s_xor_b64", UndefinedRule::kXor},
      {"s_xnor_b64", UndefinedRule::kXor},
  };
  for (const Entry& entry : kRules) {
    if (entry.mnemonic == mnemonic) return entry.rule;
  }
  return UndefinedRule::kFails;
}

class LlvmDecoder final : public Decoder {
 public:
  LlvmDecoder(Arch arch, std::unique_ptr<LlvmTarget> target)
      : handlers_(HandlersFor(arch)),
        target_(std::move(target)),
        context_(target_->triple, target_->assembly.get(), target_->registers.get(),
                 target_->subtarget.get()),
        disassembler_(target_->target->createMCDisassembler(*target_->subtarget, context_)),
        printer_(target_->target->createMCInstPrinter(target_->triple, 0, *target_->assembly,
                                                      *target_->instructions, *target_->registers)),
        source_modifier_type_(FindSourceModifierType(*target_->instructions)) {}

  Instruction Decode(std::span<const uint8_t> bytes, uint32_t pc) override {
    Instruction inst;
    inst.pc = pc;
    inst.handler = FailNoInstruction;
    inst.mnemonic = "";
    llvm::MCInst mc;
    uint64_t size = 0;
    if (!Disassemble(bytes, pc, mc, size)) return inst;

    InstructionWords words;
    std::memcpy(words.word, bytes.data(), std::min<size_t>(size, sizeof(words.word)));
    inst.size = static_cast<uint8_t>(size);
    inst.encoding = EncodingOf(words);
    const char* printed = printer_->getMnemonic(mc).first;
    inst.mnemonic = Intern(BaseMnemonic(printed == nullptr ? "?" : printed));
    const std::string_view mnemonic = inst.mnemonic;

    TakeOperands(mc, words, inst);
    FieldContext fields;
    fields.has_scalar_result =
        inst.dst_count > 1 && inst.dst[0].is_vector() && inst.dst[1].is_scalar();
    fields.is_compare = StartsWith(mnemonic, "v_cmp");
    fields.is_matrix = Contains(mnemonic, "mfma") || Contains(mnemonic, "smfmac");
    ReadFields(words, fields, inst);
    if (inst.encoding == Encoding::kFlat) PlaceFlatOperands(inst);
    if (inst.encoding == Encoding::kMubuf) PlaceBufferOperands(inst);
    inst.klass = ClassOf(inst.encoding, mnemonic, inst.mem);
    inst.undefined = UndefinedRuleOf(mnemonic);
    if (inst.klass == InstructionClass::kMatrix) inst.matrix_cycles = MatrixCycles(mc, inst);
    const Handler handler = handlers_.Find(mnemonic);
    inst.handler = handler != nullptr ? handler : FailUnknown;
    return inst;
  }

  std::string Text(std::span<const uint8_t> bytes, uint32_t pc) override {
    llvm::MCInst mc;
    uint64_t size = 0;
    if (!Disassemble(bytes, pc, mc, size)) return "(no instruction)";
    std::string text;
    llvm::raw_string_ostream stream(text);
    printer_->printInst(&mc, pc, "", *target_->subtarget, stream);
    stream.flush();
    std::replace(text.begin(), text.end(), '\t', ' ');
    const size_t start = text.find_first_not_of(' ');
    return start == std::string::npos ? text : text.substr(start);
  }

 private:
  // The operand type of source modifiers is private to LLVM's AMDGPU target; v_add_f32_e64's
  // operands are destination, modifiers, source, modifiers, source, ...
  static int FindSourceModifierType(const llvm::MCInstrInfo& instructions) {
    for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode) {
      if (instructions.getName(opcode) == "V_ADD_F32_e64_vi") {
        return instructions.get(opcode).operands()[1].OperandType;
      }
    }
    return -1;
  }

  bool Disassemble(std::span<const uint8_t> bytes, uint32_t pc, llvm::MCInst& mc, uint64_t& size) {
    const llvm::ArrayRef<uint8_t> view(bytes.data(), bytes.size());
    return disassembler_->getInstruction(mc, size, view, pc, llvm::nulls()) ==
           llvm::MCDisassembler::Success;
  }

  // LLVM's scheduling tables give passes of 4 cycles. Those of the f8f6f4 instructions depend on
  // the formats: with an 8-bit one twice as many as without.
  uint16_t MatrixCycles(const llvm::MCInst& mc, const Instruction& inst) const {
    if (Contains(inst.mnemonic, "f8f6f4")) {
      const bool wide = inst.mod.cbsz < 2 || inst.mod.blgp < 2;
      const int passes = Contains(inst.mnemonic, "16x16x128") ? 4 : 8;
      return static_cast<uint16_t>(passes * (wide ? 2 : 1) * 4);
    }
    const llvm::MCSchedModel& model = target_->subtarget->getSchedModel();
    const unsigned index = target_->instructions->get(mc.getOpcode()).getSchedClass();
    const llvm::MCSchedClassDesc* entry = model.getSchedClassDesc(index);
    if (!entry->isValid() || entry->isVariant()) return 0;
    const int passes = llvm::MCSchedModel::computeInstrLatency(*target_->subtarget, *entry);
    return static_cast<uint16_t>(std::max(passes, 0) * 4);
  }

  Operand RegisterOperand(llvm::MCRegister reg) const {
    Operand operand;
    if (reg == 0) return operand;
    const unsigned encoding = target_->registers->getEncodingValue(reg);
    const std::string_view name = target_->registers->getName(reg);
    if (const uint64_t aperture = Aperture(encoding); aperture != 0) {
      operand.kind = Operand::Kind::kConstant;
      operand.constant = aperture;
      return operand;
    }
    if (name == "SGPR_NULL") return operand;
    const bool accumulator = (encoding & kAccumulatorFlag) != 0;
    const bool vector = accumulator || (encoding & kVectorFlag) != 0;
    operand.kind = vector ? Operand::Kind::kVector : Operand::Kind::kScalar;
    operand.index =
        static_cast<uint16_t>((encoding & 0xff) + (accumulator ? kFirstAccumulator : 0));
    operand.dwords = Dwords(name);
    return operand;
  }

  // The value of an aperture register, 0 for any other.
  static uint64_t Aperture(unsigned encoding) {
    constexpr uint64_t kLimit = 0xffffffff;
    switch (encoding) {
      case 235:
        return uint64_t{kSharedAperture} << 32;
      case 236:
        return uint64_t{kSharedAperture} << 32 | kLimit;
      case 237:
        return uint64_t{kPrivateAperture} << 32;
      case 238:
        return uint64_t{kPrivateAperture} << 32 | kLimit;
      default:
        return 0;
    }
  }

  // LLVM names a register tuple by its members: "VGPR2_VGPR3".
  static uint8_t Dwords(std::string_view name) {
    for (std::string_view prefix : {"VGPR", "AGPR", "SGPR", "TTMP"}) {
      if (!StartsWith(name, prefix)) continue;
      uint8_t count = 0;
      for (size_t at = name.find(prefix); at != std::string_view::npos;
           at = name.find(prefix, at + 1)) {
        ++count;
      }
      return count;
    }
    return name == "VCC" || name == "EXEC" || name == "FLAT_SCR" || name == "XNACK_MASK" ? 2 : 1;
  }

  static void Add(Operand operand, Operand* list, uint8_t& count, size_t capacity) {
    if (count < capacity) list[count++] = operand;
  }

  void TakeOperands(const llvm::MCInst& mc, const InstructionWords& words,
                    Instruction& inst) const {
    const llvm::MCInstrDesc& desc = target_->instructions->get(mc.getOpcode());
    const unsigned results = desc.getNumDefs();
    for (unsigned i = 0; i < mc.getNumOperands() && i < desc.getNumOperands(); ++i) {
      const llvm::MCOperandInfo& info = desc.operands()[i];
      const llvm::MCOperand& value = mc.getOperand(i);
      if (info.OperandType == source_modifier_type_) continue;
      const bool tied = desc.getOperandConstraint(i, llvm::MCOI::TIED_TO) >= 0;
      if (inst.encoding == Encoding::kDpp && i == results && tied) continue;  // "old"
      Operand operand;
      if (value.isReg()) {
        operand = RegisterOperand(value.getReg());
      } else if (value.isImm() && (info.RegClass >= 0 || IsLiteralSource(inst, i, results))) {
        operand.kind = Operand::Kind::kConstant;
        operand.constant = static_cast<uint64_t>(value.getImm());
      } else if (value.isExpr()) {
        // A literal that an inline constant could have said: LLVM marks it with an expression.
        operand.kind = Operand::Kind::kConstant;
        operand.constant = words.word[1];
      } else {
        continue;
      }
      if (i < results) {
        Add(operand, inst.dst, inst.dst_count, std::size(inst.dst));
      } else {
        Add(operand, inst.src, inst.src_count, std::size(inst.src));
      }
    }
    AddImpliedVcc(desc, inst);
  }

  // An immediate that stands for a source though no register could: the literals of v_fmamk,
  // v_fmaak and s_setreg_imm32_b32, the mask of s_set_gpr_idx_on.
  static bool IsLiteralSource(const Instruction& inst, unsigned index, unsigned results) {
    switch (inst.encoding) {
      case Encoding::kVop1:
      case Encoding::kVop2:
      case Encoding::kVopc:
      case Encoding::kSopc:
      case Encoding::kSop2:
        return true;
      case Encoding::kSopk:
        return inst.size == 8 && index == results;
      default:
        return false;
    }
  }

  void AddImpliedVcc(const llvm::MCInstrDesc& desc, Instruction& inst) const {
    switch (inst.encoding) {
      case Encoding::kVop1:
      case Encoding::kVop2:
      case Encoding::kVopc:
      case Encoding::kVop3:
      case Encoding::kSdwa:
      case Encoding::kDpp:
        break;
      default:
        return;
    }
    Operand vcc;
    vcc.kind = Operand::Kind::kScalar;
    vcc.index = kVcc;
    vcc.dwords = 2;
    for (const llvm::MCPhysReg reg : desc.implicit_defs()) {
      if (!IsVcc(reg)) continue;
      if (inst.dst_count == 0 || (inst.dst_count == 1 && inst.dst[0].is_vector())) {
        Add(vcc, inst.dst, inst.dst_count, std::size(inst.dst));
      }
    }
    for (const llvm::MCPhysReg reg : desc.implicit_uses()) {
      if (IsVcc(reg)) Add(vcc, inst.src, inst.src_count, std::size(inst.src));
    }
  }

  bool IsVcc(llvm::MCPhysReg reg) const {
    return std::string_view(target_->registers->getName(reg)) == "VCC";
  }

  // Loads name an address, stores an address and data, atomics both, and a scalar address comes
  // before (loads) or after; scratch may have no vector address at all.
  static void PlaceFlatOperands(Instruction& inst) {
    Operand vectors[2];
    Operand scalar;
    int count = 0;
    for (int i = 0; i < inst.src_count; ++i) {
      if (inst.src[i].is_vector() && count < 2) vectors[count++] = inst.src[i];
      if (inst.src[i].is_scalar()) scalar = inst.src[i];
    }
    const bool to_lds = Contains(inst.mnemonic, "_lds_");
    const bool has_data =
        (Contains(inst.mnemonic, "_store") || Contains(inst.mnemonic, "_atomic")) && !to_lds;
    Operand address, data;
    if (has_data) {
      // LLVM lists the address first, but for scratch.
      const bool scratch = inst.mem.segment == MemoryFields::Segment::kScratch;
      data = vectors[scratch || count < 2 ? 0 : 1];
      if (count == 2) address = vectors[scratch ? 1 : 0];
    } else if (count > 0) {
      address = vectors[0];
    }
    inst.mem.lds = to_lds;
    inst.src[0] = address;
    inst.src[1] = data;
    inst.src[2] = scalar;
    inst.src_count = 3;
  }

  static void PlaceBufferOperands(Instruction& inst) {
    Operand vectors[2];
    Operand others[2];
    int vector_count = 0;
    int other_count = 0;
    for (int i = 0; i < inst.src_count; ++i) {
      const Operand& operand = inst.src[i];
      if (operand.is_vector()) {
        // An atomic that returns lists its data twice, as the tied result.
        if (vector_count < 2) vectors[vector_count++] = operand;
      } else if (other_count < 2) {
        others[other_count++] = operand;
      }
    }
    const bool has_data = Contains(inst.mnemonic, "_store") || Contains(inst.mnemonic, "_atomic");
    const bool has_address = inst.mem.offen || inst.mem.idxen;
    inst.src[0] = has_address ? vectors[has_data ? 1 : 0] : Operand();
    inst.src[1] = has_data ? vectors[0] : Operand();
    inst.src[2] = others[0];
    inst.src[3] = others[1];
    inst.src_count = 4;
  }

  const HandlerTable& handlers_;
  std::unique_ptr<LlvmTarget> target_;
  llvm::MCContext context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
  int source_modifier_type_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Decoder>> Decoder::Create(Arch arch) {
  absl::StatusOr<std::unique_ptr<LlvmTarget>> target = OpenLlvmTarget(arch);
  if (!target.ok()) return target.status();
  return std::make_unique<LlvmDecoder>(arch, *std::move(target));
}

}  // namespace lanewise::emulator
