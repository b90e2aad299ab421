#ifndef LANEWISE_EMULATOR_ISA_MATRIX_MATRIX_OPERANDS_H_
#define LANEWISE_EMULATOR_ISA_MATRIX_MATRIX_OPERANDS_H_

// Operands of matrix instructions between the lanes' registers and plain arrays.
//
// All shapes but the f8f6f4 ones follow one rule. A[i][k] of a block: the 64 lanes are groups of m
// (one row each); first come the blocks, then the k: lane = i + m (block + blocks (k / per_lane)),
// where each lane holds per_lane = k m blocks / 64 elements of consecutive k in its registers from
// the low bits up. B[k][j] is alike, with n and j. C and D, 32-bit elements: register r of lane l
//   16 x 16: row 4 (l / 16) + r % 4, column l % 16, block r / 4
//   32 x 32: row 8 (r % 16 / 4) + 4 (l / 32) + r % 4, column l % 32, block r / 16
//   4 x 4:   row r, column l % 4, block l / 4
// and of 64 bits, pair r of lane l
//   16 x 16: row 4 r + l / 16, column l % 16
//   4 x 4:   row l / 16, column l % 4, block l % 16 / 4
// EXEC plays no part.

#include <cstdint>
#include <vector>

#include "emulator/instruction.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {

// Of every matrix instruction: EXEC does not matter to it.
inline constexpr Traits kMatrix{.klass = InstructionClass::kMatrix, .lanes = LaneRule::kAll};

// m, n and k of one block.
struct MatrixShape {
  int m;
  int n;
  int k;
  int blocks;
};

// Where each lane's words of A or B come from, by the broadcast modifiers.
struct LaneSource {
  int8_t lane[kLanes];
};
// cbsz and abid: in each group of 2^cbsz blocks all take A from block number abid of the group.
LaneSource BroadcastA(const MatrixShape& shape, int cbsz, int abid);
// blgp: 1, 2 the first or second 32 lanes for both halves; 3 rotation by 16 lanes (lane l reads l +
// 16); 4..7 lanes 16 (blgp - 4) .. + 15 for all four quarters.
LaneSource BroadcastB(int blgp);

// A [blocks][m][k] and B [blocks][k][n] in elements of `bytes` (1, 2, 4 or 8).
std::vector<uint8_t> GatherA(const Wave& wave, const Operand& a, const MatrixShape& shape,
                             int bytes, const LaneSource& source);
std::vector<uint8_t> GatherB(const Wave& wave, const Operand& b, const MatrixShape& shape,
                             int bytes, const LaneSource& source);

// Sparse A (4:2), expanded to [m][k] with zeros: a lane holds two elements of each four k, and
// `index` two bits for each of them in its order, from bit `first_bit` of the lane's word.
std::vector<uint8_t> GatherSparseA(const Wave& wave, const Operand& a, const MatrixShape& shape,
                                   int bytes, const Operand& index, int first_bit);

// C or D, [blocks][m][n].
std::vector<uint32_t> GatherC32(const Wave& wave, const Operand& c, const MatrixShape& shape);
std::vector<uint64_t> GatherC64(const Wave& wave, const Operand& c, const MatrixShape& shape);
void ScatterD32(Wave& wave, const Operand& d, const MatrixShape& shape, const uint32_t* values);
void ScatterD64(Wave& wave, const Operand& d, const MatrixShape& shape, const uint64_t* values);

// The f8f6f4 instructions (16 x 16 x 128 and 32 x 32 x 64), one element to a byte. Elements of
// `bits` 8: lane dim ((k / 16) % (64 / dim)) + i, byte 16 (k / (k of all lanes' first 16)) + k %
// 16; 6 and 4: lane dim (k / 32) + i, element k % 32. A is [m][k], B [k][n]; dim = m or n.
std::vector<uint8_t> GatherNarrowA(const Wave& wave, const Operand& a, const MatrixShape& shape,
                                   int bits);
std::vector<uint8_t> GatherNarrowB(const Wave& wave, const Operand& b, const MatrixShape& shape,
                                   int bits);

// Scale codes: block b of row i in byte `byte` of lane dim b + i. A's [m][k / 32], B's [k / 32][n].
std::vector<uint8_t> GatherScalesA(const Wave& wave, const Operand& scale, const MatrixShape& shape,
                                   int byte);
std::vector<uint8_t> GatherScalesB(const Wave& wave, const Operand& scale, const MatrixShape& shape,
                                   int byte);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_MATRIX_MATRIX_OPERANDS_H_
