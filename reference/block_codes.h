#ifndef LANEWISE_REFERENCE_BLOCK_CODES_H_
#define LANEWISE_REFERENCE_BLOCK_CODES_H_

// The two forms of MXFP8 scale codes: one code for each 32 x 32 block, [N / 32, K / 32], or one for
// each row of a block, [N, K / 32]. Loaders repeat the first to get the second.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// Row codes [N, columns] -> block codes [N / 32, columns]. Refuses (InvalidArgument) rows that are
// not a multiple of 32, and blocks whose 32 rows do not agree: the message begins with "row scales
// (N, columns) are not 32 x 32 blocks" and names the first row that disagrees. Discards nothing.
absl::StatusOr<Tensor<std::uint8_t, 2>> FoldRowCodes(const Tensor<std::uint8_t, 2>& codes);

// Block codes [blocks, columns] -> row codes [32 blocks, columns]: the inverse of FoldRowCodes.
Tensor<std::uint8_t, 2> ExpandBlockCodes(const Tensor<std::uint8_t, 2>& codes);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_BLOCK_CODES_H_
