#ifndef LANEWISE_EMULATOR_ARCH_H_
#define LANEWISE_EMULATOR_ARCH_H_

// The two chips whose machine code the emulator executes.

#include <optional>
#include <string_view>

namespace lanewise::emulator {

enum class Arch { kGfx942, kGfx950 };

constexpr std::string_view ArchName(Arch arch) {
  return arch == Arch::kGfx942 ? "gfx942" : "gfx950";
}

// The chip of that name, without target features ("gfx942", not "gfx942:xnack-").
constexpr std::optional<Arch> ArchFromName(std::string_view name) {
  if (name == "gfx942") return Arch::kGfx942;
  if (name == "gfx950") return Arch::kGfx950;
  return std::nullopt;
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ARCH_H_
