#ifndef LANEWISE_EMULATOR_DECODE_DECODER_H_
#define LANEWISE_EMULATOR_DECODE_DECODER_H_

// From machine code to Instruction (instruction.h says what the decoded form promises).
//
// LLVM's MC library says which instruction stands there, its length and its registers and
// immediates; modifiers and memory fields are read from the instruction's words, at the positions
// the ISA manuals give them.
//
// Operands of memory instructions stand at fixed places, absent ones as kNone:
//   FLAT, global, scratch: src[0] vector address, src[1] data, src[2] scalar address
//   MUBUF:                 src[0] vector address, src[1] data, src[2] resource, src[3] scalar
//   offset DS:                    src[0] address, src[1] data 0, src[2] data 1 (in the assembler's
//   order) SMEM:                  src[0] base, src[1] scalar offset

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "emulator/arch.h"
#include "emulator/instruction.h"

namespace lanewise::emulator {

class Decoder {
 public:
  static absl::StatusOr<std::unique_ptr<Decoder>> Create(Arch arch);
  virtual ~Decoder() = default;

  // The instruction at the start of `bytes`. Bytes that are no instruction, and mnemonics without a
  // handler, give an Instruction (of 4 bytes for the former) whose handler fails saying so.
  virtual Instruction Decode(std::span<const uint8_t> bytes, uint32_t pc) = 0;

  // The instruction's text as LLVM's disassembler prints it, without leading blanks.
  virtual std::string Text(std::span<const uint8_t> bytes, uint32_t pc) = 0;
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_DECODE_DECODER_H_
