#ifndef LANEWISE_EMULATOR_ISA_DISPATCH_H_
#define LANEWISE_EMULATOR_ISA_DISPATCH_H_

// From mnemonic to handler and traits.
//
// A key is the ISA manual's mnemonic in lower case without an encoding suffix: "v_add_f32" for
// v_add_f32_e32, _e64, _sdwa and _dpp alike, "global_load_dword" with and without a scalar base.
// The decoder makes the encodings alike before a handler sees them (instruction.h).
//
// How to add a family of instructions:
//   1. Write one file emulator/isa/KIND/FAMILY.cc with a function
//          void RegisterFAMILY(Arch arch, HandlerTable& table);
//      declared in families.h, called in families.cc and a source of families in its BUILD.
//   2. Write each operation as a small function of one lane's values and register it through the
//      templates of vector_op.h (lanes in parallel), packed_op.h (two elements a lane) or
//      scalar_op.h:
//          float AddF32(float a, float b) { return a + b; }
//          table.Add("v_add_f32", VectorOp<AddF32>);
//      Operand fetch, source and destination modifiers, SDWA, DPP, EXEC and denormal modes are the
//      templates' work. The types in the function's signature say how an operand is read.
//      What the checker, the counters and the order of workgroups have to know goes with it, as
//      Traits (instruction.h), where the defaults are not right:
//          table.Add("v_mov_b32", VectorOp<Move32>, {.undefined = UndefinedRule::kCopies});
//   3. An operation that is not lane by lane (v_readlane, v_permlane) is a Handler of its own over
//      Wave: fetch its operands by FetchRows or Wave::Read32, write Wave::vector and Wave::scalar.
//   4. Where the chips differ under one mnemonic (fp8 is FNUZ on gfx942, OCP on gfx950), register a
//      different function by `arch`.
// What has no handler makes a kernel that contains it fail when it is reached, with its mnemonic
// and pc. A handler leaves tracking of uninitialised registers and counting to the executor, which
// knows each operand from the decoder.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/arch.h"
#include "emulator/instruction.h"

namespace lanewise::emulator {

class HandlerTable {
 public:
  struct Entry {
    Handler handler = nullptr;
    Traits traits;
  };

  // Registers a handler; a second one for the same mnemonic is a programming error and aborts.
  void Add(std::string_view mnemonic, Handler handler, const Traits& traits = Traits());

  // nullptr where the mnemonic has no handler.
  const Entry* Find(std::string_view mnemonic) const;

  // All registered mnemonics, sorted.
  std::vector<std::string> Mnemonics() const;

 private:
  std::unordered_map<std::string, Entry> entries_;
};

// The table of a chip, made on first use.
const HandlerTable& HandlersFor(Arch arch);

// An instruction's mnemonic without encoding suffix and what follows a blank: "v_add_f32_e32 "
// gives "v_add_f32".
std::string_view BaseMnemonic(std::string_view mnemonic);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_DISPATCH_H_
