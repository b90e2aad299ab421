#include "hip/common/permute_q.h"

#include "absl/strings/str_cat.h"
#include "hip/common/layout_move.h"

namespace lanewise::hip {
namespace {

constexpr int64_t kChunk = 16;
constexpr int kQTokensIndex = kMoveLayouts - 1;

absl::StatusOr<LayoutCopy::Problem> ToCopy(const PermuteQ::Problem& problem) {
  const bool one_head = problem.heads == 1;
  if (problem.tokens < 0 || problem.heads < 1 || problem.head_dim < 1 ||
      (problem.head_dim % kChunk != 0 && !one_head)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "permute q: q is [", problem.tokens, ", ", problem.heads, ", ", problem.head_dim,
        "], expected at least one head, and a head_dim that is a multiple of ", kChunk));
  }
  if (problem.element_bytes != 1 && problem.element_bytes != 2 && problem.element_bytes != 4 &&
      problem.element_bytes != 8) {
    return absl::InvalidArgumentError(absl::StrCat("permute q: elements of ", problem.element_bytes,
                                                   " bytes, expected 1, 2, 4 or 8"));
  }
  if (problem.heads > (int64_t{1} << 58) / problem.head_dim) {
    return absl::InvalidArgumentError(absl::StrCat("permute q: a token of ", problem.heads,
                                                   " heads of ", problem.head_dim,
                                                   " elements is too large"));
  }
  LayoutCopy::Problem copy;
  copy.extents = {problem.tokens, problem.heads * problem.head_dim};
  copy.unit_bytes = problem.element_bytes;
  // Nothing moves in a token of one head: chunks of any size tell so.
  copy.parameter = one_head ? 0 : problem.head_dim / kChunk;
  copy.direction = problem.undo ? LayoutCopy::Direction::kUnpack : LayoutCopy::Direction::kPack;
  return copy;
}

// One head's order is "plain", the catalogue's first.
int LayoutIndex(const PermuteQ::Problem& problem) {
  static_assert(MoveLayout(0).tag == "plain");
  return problem.heads == 1 ? 0 : kQTokensIndex;
}

}  // namespace

absl::StatusOr<PermuteQ> PermuteQ::Load(const Device& device) {
  absl::StatusOr<LayoutCopy> copy = LayoutCopy::Load(device);
  if (!copy.ok()) return copy.status();
  return PermuteQ(*std::move(copy));
}

absl::StatusOr<LaunchCost> PermuteQ::Cost(const Problem& problem) {
  const absl::StatusOr<LayoutCopy::Problem> copy = ToCopy(problem);
  if (!copy.ok()) return copy.status();
  return LayoutCopy::CostOf(LayoutIndex(problem), *copy);
}

absl::Status PermuteQ::Launch(const Problem& problem, const Operands& operands,
                              const Stream& stream) const {
  const absl::StatusOr<LayoutCopy::Problem> copy = ToCopy(problem);
  if (!copy.ok()) return copy.status();
  return copy_.LaunchLayout(LayoutIndex(problem), *copy, {operands.standard, operands.fused},
                            stream);
}

}  // namespace lanewise::hip
