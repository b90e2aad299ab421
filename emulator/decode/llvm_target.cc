#include "emulator/decode/llvm_target.h"

#include <string>

#include "absl/strings/str_cat.h"

// llvm/Support/TargetSelect.h declares every target's initialisers; this is the one that is needed.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
void LLVMInitializeAMDGPUDisassembler();
}

namespace lanewise::emulator {

absl::StatusOr<std::unique_ptr<LlvmTarget>> OpenLlvmTarget(Arch arch) {
  static const bool kInitialised = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
    return true;
  }();
  (void)kInitialised;
  auto result = std::make_unique<LlvmTarget>();
  std::string error;
  result->target = llvm::TargetRegistry::lookupTarget(result->triple, error);
  if (result->target == nullptr) {
    return absl::UnavailableError(absl::StrCat("LLVM has no AMDGPU target: ", error));
  }
  const std::string cpu(ArchName(arch));
  result->registers.reset(result->target->createMCRegInfo(result->triple));
  result->assembly.reset(
      result->target->createMCAsmInfo(*result->registers, result->triple, result->options));
  result->instructions.reset(result->target->createMCInstrInfo());
  result->subtarget.reset(result->target->createMCSubtargetInfo(result->triple, cpu, ""));
  return result;
}

}  // namespace lanewise::emulator
