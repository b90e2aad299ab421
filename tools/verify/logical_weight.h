#ifndef LANEWISE_TOOLS_VERIFY_LOGICAL_WEIGHT_H_
#define LANEWISE_TOOLS_VERIFY_LOGICAL_WEIGHT_H_

// The logical weights of a checkpoint, cut out for a tensor-parallel rank, as the tensors that
// reference/ takes. Nothing here is shared with weights/, so that agreement of the two means
// something; speed is no concern.

#include <cstdint>

#include "absl/status/statusor.h"
#include "checkpoint/prepare/preparation.h"
#include "checkpoint/recipes/recipe_match.h"
#include "checkpoint/safetensors/tensor_set.h"
#include "formats/formats.h"
#include "reference/tensor.h"

namespace lanewise::tools {

struct LogicalLinear {
  bool is_bf16 = false;
  Tensor<std::uint8_t, 2> bytes;  // e4m3 [N, K], unless is_bf16
  Tensor<Bf16, 2> values;         // [N, K], if is_bf16
  // [N / 32, K / 32] or, if has_row_codes, [N, K / 32]. Codes of larger blocks are repeated.
  Tensor<std::uint8_t, 2> codes;
  bool has_row_codes = false;
  // Whether the codes are 32 x 32 blocks; of row codes, those of the whole weight and not only of
  // this rank's part, so that all ranks answer alike.
  bool folds = true;

  // One code a row: `codes`, repeated where they are blocks.
  Tensor<std::uint8_t, 2> RowCodes() const;
  // One code a block. Refuses row codes that disagree within one (reference::FoldRowCodes).
  absl::StatusOr<Tensor<std::uint8_t, 2>> BlockCodes() const;
};

// Rows or columns of a matrix.
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// What a rank holds of a linear. InvalidArgument if it does not divide.
struct LinearPart {
  Range rows, columns;
};
absl::StatusOr<LinearPart> PartOfLinear(const MatchedWeight& weight,
                                        const PreparationOptions& options);

// A part of a linear; its columns, and with block codes its rows, are multiples of 32. `folds` is
// what CodesAreBlocks says of the weight.
LogicalLinear ReadLinear(const MatchedWeight& weight, const TensorSet& set, const LinearPart& part,
                         bool folds);

// Whether row codes of the whole weight are 32 x 32 blocks; true of block codes.
bool CodesAreBlocks(const MatchedWeight& weight, const TensorSet& set);

// What a rank holds of an expert weight.
struct ExpertPart {
  std::int64_t first_expert = 0;
  std::int64_t experts = 0;
  std::int64_t first_inter = 0;  // of inter, the rows of gate and of up or the columns of down
  std::int64_t inter = 0;
};
absl::StatusOr<ExpertPart> PartOfExperts(const MatchedWeight& weight,
                                         const PreparationOptions& options);

// One expert: packed e2m1 rows [1, R, columns / 2] and codes [1, R, columns / 32]. Of a gate/up
// weight all gate rows and then all up rows, R = 2 inter; of a down weight R = n
// and columns = inter.
struct LogicalExpert {
  Tensor<std::uint8_t, 3> rows;
  Tensor<std::uint8_t, 3> codes;
};
LogicalExpert ReadExpert(const MatchedWeight& weight, const TensorSet& set, const ExpertPart& part,
                         std::int64_t expert);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_LOGICAL_WEIGHT_H_
