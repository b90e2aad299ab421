#ifndef LANEWISE_EMULATOR_DECODE_LLVM_TARGET_H_
#define LANEWISE_EMULATOR_DECODE_LLVM_TARGET_H_

// LLVM's machine-code layer for one of the chips: what the decoder and the tests' assembler share.

#include <memory>

#include "absl/status/statusor.h"
#include "emulator/arch.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"

namespace lanewise::emulator {

struct LlvmTarget {
  llvm::Triple triple{"amdgcn-amd-amdhsa"};
  const llvm::Target* target = nullptr;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
};

// Fails where this LLVM was built without the AMDGPU target.
absl::StatusOr<std::unique_ptr<LlvmTarget>> OpenLlvmTarget(Arch arch);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_DECODE_LLVM_TARGET_H_
