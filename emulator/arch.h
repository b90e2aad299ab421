#ifndef LANEWISE_EMULATOR_ARCH_H_
#define LANEWISE_EMULATOR_ARCH_H_

// The chips whose machine code the emulator executes, and in what they differ beside instructions
// (each family of instructions registers those that its chip has: isa/dispatch.h).
//
//   TraitsOf(Arch::kGfx950).lds_bytes   // 163840
//
// A further chip: an entry here, and its instructions.

#include <cstdint>
#include <optional>
#include <string_view>

namespace lanewise::emulator {

enum class Arch { kGfx942, kGfx950 };

struct ArchTraits {
  Arch arch;
  std::string_view name;    // without target features: "gfx942", not "gfx942:xnack-"
  uint32_t elf_machine;     // EF_AMDGPU_MACH of its code objects
  uint32_t lds_bytes;       // of a workgroup, at most
  uint32_t lds_banks;       // of 4 bytes
  uint32_t vm_outstanding;  // vector memory operations that vmcnt can count
  int mixed_matrix_passes;  // v_mfma_*_16x16x128_f8f6f4 of formats below 8 bits; 0: there is none
};

inline constexpr ArchTraits kArchs[] = {
    {Arch::kGfx942, "gfx942", 0x4c, 65536, 32, 63, 0},
    {Arch::kGfx950, "gfx950", 0x4f, 163840, 32, 63, 4},
};

constexpr const ArchTraits& TraitsOf(Arch arch) { return kArchs[static_cast<int>(arch)]; }

constexpr std::string_view ArchName(Arch arch) { return TraitsOf(arch).name; }

constexpr std::optional<Arch> ArchFromName(std::string_view name) {
  for (const ArchTraits& traits : kArchs) {
    if (traits.name == name) return traits.arch;
  }
  return std::nullopt;
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ARCH_H_
