// Register moves.

#include <cstdint>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/scalar/scalar_op.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

uint32_t Move32(uint32_t a) { return a; }
uint64_t Move64(uint64_t a) { return a; }

}  // namespace

void RegisterMoves(Arch /*arch*/, HandlerTable& table) {
  constexpr Traits kMove{.undefined = UndefinedRule::kCopies};
  table.Add("v_mov_b32", VectorOp<Move32>, kMove);
  table.Add("v_mov_b64", VectorOp<Move64>, kMove);
  table.Add("v_accvgpr_read_b32", VectorOp<Move32>, kMove);
  table.Add("v_accvgpr_write_b32", VectorOp<Move32>, kMove);
  table.Add("v_accvgpr_mov_b32", VectorOp<Move32>, kMove);
  table.Add("s_mov_b32", ScalarOp<Move32>, kMove);
  table.Add("s_mov_b64", ScalarOp<Move64>, kMove);
}

}  // namespace lanewise::emulator
