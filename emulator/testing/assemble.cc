#include "emulator/testing/assemble.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "emulator/decode/decoder.h"
#include "emulator/decode/llvm_target.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace lanewise::emulator {
namespace {

// The contents of .text in an ELF image.
absl::StatusOr<std::vector<uint8_t>> TextOf(llvm::StringRef image) {
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(image, "asm"));
  if (!object) return absl::InternalError(llvm::toString(object.takeError()));
  for (const llvm::object::SectionRef& section : (*object)->sections()) {
    if (!section.isText()) continue;
    llvm::Expected<llvm::StringRef> contents = section.getContents();
    if (!contents) return absl::InternalError(llvm::toString(contents.takeError()));
    return std::vector<uint8_t>(contents->bytes_begin(), contents->bytes_end());
  }
  return std::vector<uint8_t>();
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> Assemble(Arch arch, std::string_view text) {
  absl::StatusOr<std::unique_ptr<LlvmTarget>> opened = OpenLlvmTarget(arch);
  if (!opened.ok()) return opened.status();
  LlvmTarget& target = **opened;
  llvm::SourceMgr source;
  std::string diagnostic;
  source.setDiagHandler(
      [](const llvm::SMDiagnostic& message, void* out) {
        absl::StrAppend(static_cast<std::string*>(out), message.getMessage().str(), "; ");
      },
      &diagnostic);
  source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(std::string(text) + "\n"),
                            llvm::SMLoc());
  llvm::MCContext context(target.triple, target.assembly.get(), target.registers.get(),
                          target.subtarget.get(), &source, &target.options);
  std::unique_ptr<llvm::MCObjectFileInfo> object_info(
      target.target->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(object_info.get());
  llvm::SmallString<1024> image;
  llvm::raw_svector_ostream stream(image);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      target.target->createMCAsmBackend(*target.subtarget, *target.registers, target.options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(
      target.target->createMCCodeEmitter(*target.instructions, context));
  std::unique_ptr<llvm::MCStreamer> streamer(target.target->createMCObjectStreamer(
      target.triple, context, std::move(backend), std::move(writer), std::move(emitter),
      *target.subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(source, context, *streamer, *target.assembly));
  std::unique_ptr<llvm::MCTargetAsmParser> target_parser(target.target->createMCAsmParser(
      *target.subtarget, *parser, *target.instructions, target.options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(/*NoInitialTextSection=*/false)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot assemble \"", std::string(text),
                                                   "\" for ", std::string(ArchName(arch)), ": ",
                                                   diagnostic));
  }
  return TextOf(image.str());
}

absl::Status Execute(Wave& wave, std::string_view text) {
  absl::StatusOr<std::vector<uint8_t>> code = Assemble(wave.arch, text);
  if (!code.ok()) return code.status();
  static auto* const kDecoders = new std::map<Arch, std::unique_ptr<Decoder>>();
  std::unique_ptr<Decoder>& decoder = (*kDecoders)[wave.arch];
  if (decoder == nullptr) {
    absl::StatusOr<std::unique_ptr<Decoder>> created = Decoder::Create(wave.arch);
    if (!created.ok()) return created.status();
    decoder = *std::move(created);
  }
  const std::span<const uint8_t> bytes(*code);
  for (size_t at = 0; at < bytes.size();) {
    const Instruction inst = decoder->Decode(bytes.subspan(at), static_cast<uint32_t>(at));
    inst.handler(wave, inst);
    if (wave.state == Wave::State::kFailed) return absl::InternalError(wave.failure());
    at += inst.size;
  }
  return absl::OkStatus();
}

}  // namespace lanewise::emulator
