#ifndef LANEWISE_EMULATOR_TESTING_ASSEMBLE_H_
#define LANEWISE_EMULATOR_TESTING_ASSEMBLE_H_

// Assembler text to machine code, for tests of single instructions.

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "emulator/arch.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {

// The bytes of the instructions in `text`, one a line, as LLVM's assembler writes them:
// Assemble(Arch::kGfx942, "v_add_f32_e64 v0, -v1, |v2| clamp").
absl::StatusOr<std::vector<uint8_t>> Assemble(Arch arch, std::string_view text);

// Assembles, decodes and executes the instructions in order on `wave`, branches apart. A line that
// does not assemble, or an instruction that fails, is the returned error.
absl::Status Execute(Wave& wave, std::string_view text);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_TESTING_ASSEMBLE_H_
