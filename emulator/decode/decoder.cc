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

bool StartsWith(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

InstructionClass ClassOf(Encoding encoding, const Traits& traits, const MemoryFields& mem) {
  switch (encoding) {
    case Encoding::kSopp:
      return traits.klass.value_or(InstructionClass::kOther);
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopc:
    case Encoding::kSopk:
      return traits.klass.value_or(InstructionClass::kScalar);
    case Encoding::kSmem:
      return traits.klass.value_or(InstructionClass::kScalarMemory);
    case Encoding::kDs:
      return traits.klass.value_or(InstructionClass::kLds);
    case Encoding::kFlat:
      if (mem.segment == MemoryFields::Segment::kScratch) return InstructionClass::kScratch;
      return traits.klass.value_or(InstructionClass::kOther);
    case Encoding::kMubuf:
      return traits.klass.value_or(InstructionClass::kOther);
    case Encoding::kDpp:
      return InstructionClass::kCrossLane;
    default:
      return traits.klass.value_or(InstructionClass::kVector);
  }
}

bool HasData(const Traits& traits) {
  return traits.klass == InstructionClass::kGlobalStore ||
         traits.klass == InstructionClass::kAtomic;
}

// What the order of workgroups and waves has to know (launch/launch.h).
void NoteSharing(Instruction& inst) {
  const bool returns = inst.dst_count > 0;
  switch (inst.klass) {
    case InstructionClass::kAtomic:
      inst.order_shows = inst.traits.order_shows || inst.mem.sc0;
      inst.polls = returns;
      inst.stores = !returns;
      break;
    case InstructionClass::kGlobalLoad:
      // Past the caches of a compute unit: it is there to see other workgroups' stores.
      inst.order_shows = inst.polls = inst.mem.sc1;
      break;
    case InstructionClass::kGlobalStore:
      inst.stores = true;
      break;
    case InstructionClass::kLds:
      inst.polls = returns;
      inst.stores = !returns;
      break;
    default:
      break;
  }
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
    const HandlerTable::Entry* const entry = handlers_.Find(inst.mnemonic);
    inst.handler = entry != nullptr ? entry->handler : FailUnknown;
    if (entry != nullptr) inst.traits = entry->traits;

    TakeOperands(mc, words, inst);
    FieldContext fields;
    fields.has_scalar_result =
        inst.dst_count > 1 && inst.dst[0].is_vector() && inst.dst[1].is_scalar();
    fields.is_matrix = inst.traits.klass == InstructionClass::kMatrix;
    ReadFields(words, fields, inst);
    if (inst.encoding == Encoding::kFlat) PlaceFlatOperands(inst);
    if (inst.encoding == Encoding::kMubuf) PlaceBufferOperands(inst);
    inst.klass = ClassOf(inst.encoding, inst.traits, inst.mem);
    NoteSharing(inst);
    if (inst.klass == InstructionClass::kMatrix) inst.matrix_cycles = MatrixCycles(mc, inst);
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
    if (inst.traits.matrix_passes != 0) {
      const bool wide = inst.mod.cbsz < 2 || inst.mod.blgp < 2;
      return static_cast<uint16_t>(inst.traits.matrix_passes * (wide ? 2 : 1) * 4);
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
        const bool preserves = inst.traits.keeps_rest || inst.encoding == Encoding::kSdwa;
        if (tied && preserves) inst.kept_source = inst.src_count;
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
    const bool has_data = HasData(inst.traits);
    Operand address, data;
    if (has_data) {
      // LLVM lists the address first, but for scratch.
      const bool scratch = inst.mem.segment == MemoryFields::Segment::kScratch;
      data = vectors[scratch || count < 2 ? 0 : 1];
      if (count == 2) address = vectors[scratch ? 1 : 0];
    } else if (count > 0) {
      address = vectors[0];
    }
    inst.mem.lds = inst.traits.to_lds;
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
    const bool has_data = HasData(inst.traits);
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
