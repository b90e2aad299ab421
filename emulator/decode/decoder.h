#ifndef LANEWISE_EMULATOR_DECODE_DECODER_H_
#define LANEWISE_EMULATOR_DECODE_DECODER_H_

// From machine code to Instruction (instruction.h says what the decoded form promises).
//
// LLVM's MC library says which instruction stands there, its length and its registers and
// immediates; modifiers and memory fields are read from the instruction's words, at the positions
// the ISA manuals give them.
//
// Operands of memory instructions stand at fixed places, absent ones as kNone:
//                          src[0]          src[1]         src[2]          src[3]
//   FLAT, global, scratch  vector address  data           scalar address
//   MUBUF                  vector address  data           resource        scalar offset
//   DS (assembler's order) address         data 0         data 1
//   SMEM                   base            scalar offset

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
