#include "emulator/load/code_object.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "emulator/decode/decoder.h"
#include "emulator/load/kernel_metadata.h"
#include "emulator/load/offload_bundle.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/MemoryBuffer.h"

namespace lanewise::emulator {
namespace {

using llvm::object::ELF64LE;
using llvm::object::ELF64LEFile;
using llvm::object::ELF64LEObjectFile;

constexpr uint64_t kPage = 4096;
// An image larger than this is a damaged header, not code.
constexpr uint64_t kMaxImage = uint64_t{1} << 31;

absl::Status FromLlvm(llvm::Error error, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("damaged code object: ", std::string(what), ": ",
                                                 llvm::toString(std::move(error))));
}

absl::Status Damaged(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("damaged code object: ", std::string(what)));
}

absl::StatusOr<Arch> ArchOfFlags(uint32_t flags) {
  const uint32_t machine = flags & llvm::ELF::EF_AMDGPU_MACH;
  for (const ArchTraits& chip : kArchs) {
    if (chip.elf_machine == machine) return chip.arch;
  }
  return absl::UnimplementedError(
      absl::StrCat("the code object is for another chip (EF_AMDGPU_MACH 0x", absl::Hex(machine),
                   "); the emulator runs gfx942 and gfx950"));
}

// Applies the dynamic relocations: all refer to the image itself.
absl::Status Relocate(const ELF64LEObjectFile& object, uint8_t* image, uint64_t image_size) {
  const llvm::object::ELFObjectFileBase& any_elf = object;
  const auto base = reinterpret_cast<uint64_t>(image);
  for (const llvm::object::SectionRef& section : any_elf.dynamic_relocation_sections()) {
    for (const llvm::object::ELFRelocationRef relocation : section.relocations()) {
      const uint64_t at = relocation.getOffset();
      llvm::Expected<int64_t> addend = relocation.getAddend();
      if (!addend) return FromLlvm(addend.takeError(), "relocation");
      uint64_t symbol_value = 0;
      const llvm::object::elf_symbol_iterator symbol = relocation.getSymbol();
      if (symbol != object.symbol_end()) {
        llvm::Expected<llvm::StringRef> name = symbol->getName();
        if (!name) return FromLlvm(name.takeError(), "symbol");
        llvm::Expected<const ELF64LE::Sym*> entry = object.getSymbol(symbol->getRawDataRefImpl());
        if (!entry) return FromLlvm(entry.takeError(), "symbol");
        if ((*entry)->isUndefined()) {
          return absl::NotFoundError(absl::StrCat("the code object refers to ", name->str(),
                                                  ", which it does not define"));
        }
        symbol_value = (*entry)->st_value;
      }
      const uint64_t value = base + symbol_value + static_cast<uint64_t>(*addend);
      int bytes = 8;
      uint64_t patch = value;
      switch (relocation.getType()) {
        case llvm::ELF::R_AMDGPU_NONE:
          continue;
        case llvm::ELF::R_AMDGPU_RELATIVE64:
          patch = base + static_cast<uint64_t>(*addend);
          break;
        case llvm::ELF::R_AMDGPU_ABS64:
          break;
        case llvm::ELF::R_AMDGPU_ABS32_LO:
          bytes = 4;
          break;
        case llvm::ELF::R_AMDGPU_ABS32_HI:
          bytes = 4;
          patch >>= 32;
          break;
        case llvm::ELF::R_AMDGPU_REL64:
          patch = value - (base + at);
          break;
        case llvm::ELF::R_AMDGPU_REL32:
        case llvm::ELF::R_AMDGPU_REL32_LO:
          bytes = 4;
          patch = value - (base + at);
          break;
        case llvm::ELF::R_AMDGPU_REL32_HI:
          bytes = 4;
          patch = (value - (base + at)) >> 32;
          break;
        default:
          return absl::UnimplementedError(
              absl::StrCat("the code object has a relocation of type ", relocation.getType()));
      }
      if (at > image_size || image_size - at < static_cast<uint64_t>(bytes)) {
        return Damaged("a relocation lies outside of the image");
      }
      std::memcpy(image + at, &patch, static_cast<size_t>(bytes));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MetadataNote(const ELF64LEFile& elf) {
  auto segments = elf.program_headers();
  if (!segments) return FromLlvm(segments.takeError(), "program headers");
  for (const ELF64LE::Phdr& segment : *segments) {
    if (segment.p_type != llvm::ELF::PT_NOTE) continue;
    llvm::Error error = llvm::Error::success();
    std::string found;
    for (const ELF64LE::Note& note : elf.notes(segment, error)) {
      if (note.getType() == llvm::ELF::NT_AMDGPU_METADATA && note.getName() == "AMDGPU") {
        found = note.getDescAsStringRef(segment.p_align).str();
      }
    }
    if (error) return FromLlvm(std::move(error), "notes");
    if (!found.empty()) return found;
  }
  return absl::InvalidArgumentError("the code object has no AMDGPU metadata (V3 or later)");
}

void TakeDescriptor(const llvm::amdhsa::kernel_descriptor_t& descriptor, uint64_t offset,
                    Kernel& kernel) {
  kernel.entry = static_cast<uint32_t>(static_cast<int64_t>(offset) +
                                       descriptor.kernel_code_entry_byte_offset);
  kernel.group_segment_size = descriptor.group_segment_fixed_size;
  kernel.private_segment_size = descriptor.private_segment_fixed_size;
  kernel.kernarg_size = descriptor.kernarg_size;
  kernel.rsrc1 = descriptor.compute_pgm_rsrc1;
  kernel.rsrc2 = descriptor.compute_pgm_rsrc2;
  kernel.rsrc3 = descriptor.compute_pgm_rsrc3;
  kernel.code_properties = descriptor.kernel_code_properties;
  kernel.kernarg_preload = descriptor.kernarg_preload;
}

}  // namespace

int64_t Kernel::ExplicitSize() const {
  int64_t end = 0;
  for (const KernelArgument& argument : arguments) {
    if (!argument.is_hidden()) end = std::max(end, argument.offset + argument.size);
  }
  return end;
}

void CodeObject::FreeImage::operator()(uint8_t* image) const { std::free(image); }

CodeObject::~CodeObject() = default;

absl::StatusOr<std::unique_ptr<CodeObject>> CodeObject::Load(std::span<const uint8_t> bytes,
                                                             Arch wanted) {
  absl::StatusOr<std::span<const uint8_t>> selected = SelectCodeObject(bytes, wanted);
  if (!selected.ok()) return selected.status();
  std::unique_ptr<CodeObject> object(new CodeObject());
  if (absl::Status status = object->LoadElf(*selected, wanted); !status.ok()) return status;
  if (absl::Status status = object->DecodeText(); !status.ok()) return status;
  return object;
}

absl::Status CodeObject::LoadElf(std::span<const uint8_t> bytes, Arch wanted) {
  file_.assign(bytes.begin(), bytes.end());
  const llvm::StringRef content(reinterpret_cast<const char*>(file_.data()), file_.size());
  auto opened = ELF64LEObjectFile::create(llvm::MemoryBufferRef(content, "code object"));
  if (!opened) return FromLlvm(opened.takeError(), "no ELF64 file");
  const ELF64LEFile& elf = opened->getELFFile();
  if (elf.getHeader().e_machine != llvm::ELF::EM_AMDGPU) {
    return absl::InvalidArgumentError("the ELF file is not for AMD GPUs");
  }
  absl::StatusOr<Arch> arch = ArchOfFlags(elf.getHeader().e_flags);
  if (!arch.ok()) return arch.status();
  if (*arch != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("the code object is for ", std::string(ArchName(*arch)), ", the device is a ",
                     std::string(ArchName(wanted))));
  }
  arch_ = *arch;

  auto segments = elf.program_headers();
  if (!segments) return FromLlvm(segments.takeError(), "program headers");
  for (const ELF64LE::Phdr& segment : *segments) {
    if (segment.p_type != llvm::ELF::PT_LOAD) continue;
    if (segment.p_vaddr > kMaxImage || segment.p_memsz > kMaxImage) {
      return Damaged("a segment of more than 2 GiB");
    }
    image_size_ = std::max<uint64_t>(image_size_, segment.p_vaddr + segment.p_memsz);
  }
  if (image_size_ == 0) return Damaged("no loadable segment");
  image_size_ = (image_size_ + kPage - 1) / kPage * kPage;
  image_.reset(static_cast<uint8_t*>(std::aligned_alloc(kPage, image_size_)));
  if (image_ == nullptr) return absl::ResourceExhaustedError("no memory for the code object");
  std::memset(image_.get(), 0, image_size_);
  for (const ELF64LE::Phdr& segment : *segments) {
    if (segment.p_type != llvm::ELF::PT_LOAD) continue;
    if (segment.p_offset > file_.size() || segment.p_filesz > file_.size() - segment.p_offset ||
        segment.p_filesz > segment.p_memsz) {
      return Damaged("a segment lies outside of the file");
    }
    std::memcpy(image_.get() + segment.p_vaddr, file_.data() + segment.p_offset, segment.p_filesz);
    if ((segment.p_flags & llvm::ELF::PF_X) == 0) continue;
    if (program_.end != 0) return absl::UnimplementedError("a code object with two texts");
    program_.begin = static_cast<uint32_t>(segment.p_vaddr);
    program_.end = static_cast<uint32_t>(segment.p_vaddr + segment.p_filesz / 4 * 4);
  }
  if (absl::Status status = Relocate(*opened, image_.get(), image_size_); !status.ok()) {
    return status;
  }

  for (const llvm::object::ELFSymbolRef symbol : opened->getDynamicSymbolIterators()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name) return FromLlvm(name.takeError(), "symbol");
    llvm::Expected<const ELF64LE::Sym*> entry = opened->getSymbol(symbol.getRawDataRefImpl());
    if (!entry) return FromLlvm(entry.takeError(), "symbol");
    const ELF64LE::Sym& sym = **entry;
    if (sym.getType() != llvm::ELF::STT_OBJECT || sym.isUndefined()) continue;
    if (sym.st_value > image_size_ || sym.st_size > image_size_ - sym.st_value) {
      return Damaged(absl::StrCat("symbol ", name->str(), " lies outside of the image"));
    }
    variables_[name->str()] = Variable{sym.st_value, sym.st_size};
  }

  absl::StatusOr<std::string> note = MetadataNote(elf);
  if (!note.ok()) return note.status();
  absl::StatusOr<std::vector<KernelMetadata>> metadata = ReadKernelMetadata(*note);
  if (!metadata.ok()) return metadata.status();
  for (KernelMetadata& entry : *metadata) {
    const auto found = variables_.find(entry.descriptor_symbol);
    llvm::amdhsa::kernel_descriptor_t descriptor;
    if (found == variables_.end() || found->second.size < sizeof(descriptor)) {
      return Damaged(absl::StrCat("no descriptor for kernel ", entry.kernel.name));
    }
    std::memcpy(&descriptor, image_.get() + found->second.offset, sizeof(descriptor));
    TakeDescriptor(descriptor, found->second.offset, entry.kernel);
    for (const KernelArgument& argument : entry.kernel.arguments) {
      if (argument.offset + argument.size > entry.kernel.kernarg_size) {
        return Damaged(absl::StrCat("kernel ", entry.kernel.name,
                                    ": an argument lies outside of the kernarg segment"));
      }
    }
    kernels_.push_back(std::move(entry.kernel));
  }
  return absl::OkStatus();
}

absl::Status CodeObject::DecodeText() {
  absl::StatusOr<std::unique_ptr<Decoder>> decoder = Decoder::Create(arch_);
  if (!decoder.ok()) return decoder.status();
  program_.at_word.assign((program_.end - program_.begin) / 4, Program::kNone);
  for (uint32_t pc = program_.begin; pc < program_.end;) {
    const std::span<const uint8_t> rest(image_.get() + pc, program_.end - pc);
    Instruction inst = (*decoder)->Decode(rest, pc);
    program_.at_word[(pc - program_.begin) / 4] =
        static_cast<uint32_t>(program_.instructions.size());
    pc += inst.size;
    program_.instructions.push_back(inst);
  }
  for (const Kernel& kernel : kernels_) {
    if (program_.At(kernel.entry) == nullptr) {
      return Damaged(absl::StrCat("the entry of kernel ", kernel.name, " is outside of its text"));
    }
  }
  return absl::OkStatus();
}

const Kernel* CodeObject::FindKernel(std::string_view name) const {
  for (const Kernel& kernel : kernels_) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

const Variable* CodeObject::FindVariable(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

std::string CodeObject::SourceLine(uint32_t pc) const {
  const llvm::StringRef content(reinterpret_cast<const char*>(file_.data()), file_.size());
  auto opened = ELF64LEObjectFile::create(llvm::MemoryBufferRef(content, "code object"));
  if (!opened) {
    llvm::consumeError(opened.takeError());
    return "";
  }
  const auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
  std::unique_ptr<llvm::DWARFContext> dwarf = llvm::DWARFContext::create(
      *opened, llvm::DWARFContext::ProcessDebugRelocations::Process, nullptr, "", ignore, ignore);
  const std::optional<llvm::DILineInfo> info =
      dwarf->getLineInfoForAddress({pc, llvm::object::SectionedAddress::UndefSection});
  if (!info || info->Line == 0) return "";
  return absl::StrCat(info->FileName, ":", info->Line);
}

std::string CodeObject::Disassemble(uint32_t pc) const {
  if (pc < program_.begin || pc >= program_.end) return "(outside of the text)";
  absl::StatusOr<std::unique_ptr<Decoder>> decoder = Decoder::Create(arch_);
  if (!decoder.ok()) return std::string(decoder.status().message());
  return (*decoder)->Text({image_.get() + pc, program_.end - pc}, pc);
}

}  // namespace lanewise::emulator
