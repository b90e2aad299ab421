#include "tools/verify/logical_weight.h"

#include <algorithm>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "reference/block_codes.h"

namespace lanewise::tools {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;

absl::StatusOr<Range> EqualPart(std::int64_t size, const PreparationOptions& options) {
  if (size % options.ranks != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(size, " does not divide among ", options.ranks, " ranks"));
  }
  const std::int64_t count = size / options.ranks;
  return Range{count * options.rank, count};
}

std::span<const std::uint8_t> BytesOf(const TensorSet& set, const std::string& name) {
  return set.Bytes(*set.Find(name));
}

// Rows and columns of a row-major matrix of `width` bytes a row.
Bytes Cut(std::span<const std::uint8_t> matrix, std::int64_t width, Range rows, Range columns) {
  Bytes cut(rows.count, columns.count);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    for (std::int64_t column = 0; column < columns.count; ++column) {
      cut(row, column) = matrix[(rows.begin + row) * width + columns.begin + column];
    }
  }
  return cut;
}

// The codes of a part: one for each `code_rows` (1 or 32) rows and each 32 columns.
Bytes CodesOf(const MatchedWeight& weight, const TensorSet& set, std::int64_t code_rows, Range rows,
              Range columns) {
  const auto stored = BytesOf(set, weight.parts[0].scale);
  const std::int64_t width = (weight.k + weight.code_columns - 1) / weight.code_columns;
  Bytes codes(rows.count / code_rows, columns.count / 32);
  for (std::int64_t row = 0; row < codes.dimension(0); ++row) {
    for (std::int64_t column = 0; column < codes.dimension(1); ++column) {
      const std::int64_t element_row = rows.begin + row * code_rows;
      const std::int64_t element_column = columns.begin + column * 32;
      codes(row, column) =
          stored[element_row / weight.code_rows * width + element_column / weight.code_columns];
    }
  }
  return codes;
}

// The part that holds a half (gate, up, or the one of a down weight) of an expert. MatchRecipe has
// checked that there is one.
const WeightPart& PartOf(const MatchedWeight& weight, std::int64_t expert, WeightPart::Half half) {
  for (const WeightPart& part : weight.parts) {
    const bool holds = part.half == WeightPart::Half::kWhole || part.half == half;
    if (holds && part.first_expert <= expert && expert < part.first_expert + part.experts) {
      return part;
    }
  }
  return weight.parts[0];
}

// In which row of its part row `i` of an expert's half lies.
std::int64_t RowInPart(const MatchedWeight& weight, const WeightPart& part, std::int64_t expert,
                       WeightPart::Half half, std::int64_t i) {
  const std::int64_t in_part = expert - part.first_expert;
  if (part.half != WeightPart::Half::kWhole) return in_part * weight.inter() + i;
  if (weight.projection != Projection::kGateUp) return in_part * weight.n + i;
  const std::int64_t up = half == WeightPart::Half::kUp ? 1 : 0;
  const bool interleaved = weight.order == GateUpOrder::kInterleaved;
  return in_part * weight.n + (interleaved ? 2 * i + up : up * weight.inter() + i);
}

}  // namespace

Bytes LogicalLinear::RowCodes() const {
  return has_row_codes ? codes : reference::ExpandBlockCodes(codes);
}

absl::StatusOr<Bytes> LogicalLinear::BlockCodes() const {
  if (has_row_codes) return reference::FoldRowCodes(codes);
  return codes;
}

bool CodesAreBlocks(const MatchedWeight& weight, const TensorSet& set) {
  if (weight.code_rows != 1) return true;
  if (weight.n % 32 != 0) return false;
  // 32 rows at a time: the codes of all of them are a 32nd of the weight.
  for (std::int64_t row = 0; row < weight.n; row += 32) {
    if (!reference::FoldRowCodes(CodesOf(weight, set, 1, {row, 32}, {0, weight.k})).ok()) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<LinearPart> PartOfLinear(const MatchedWeight& weight,
                                        const PreparationOptions& options) {
  LinearPart part = {{0, weight.n}, {0, weight.k}};
  if (options.ranks > 1 && weight.parallel != Parallel::kReplicated) {
    const bool by_rows = weight.parallel == Parallel::kColumn;
    if (!by_rows && weight.parallel != Parallel::kRow) {
      return absl::InvalidArgumentError("the recipe does not say how ranks share this linear");
    }
    Range& split = by_rows ? part.rows : part.columns;
    const absl::StatusOr<Range> equal = EqualPart(split.count, options);
    if (!equal.ok()) return equal.status();
    split = *equal;
  }
  if (part.columns.count % 32 != 0 || (weight.code_rows != 1 && part.rows.count % 32 != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("a part of [", part.rows.count, ", ",
                                                   part.columns.count, "] is not of whole blocks"));
  }
  return part;
}

LogicalLinear ReadLinear(const MatchedWeight& weight, const TensorSet& set, const LinearPart& part,
                         bool folds) {
  const Range rows = part.rows, columns = part.columns;
  LogicalLinear linear;
  linear.is_bf16 = weight.dtype == DType::kBf16;
  linear.has_row_codes = weight.code_rows == 1;
  const auto stored = BytesOf(set, weight.parts[0].weight);
  if (linear.is_bf16) {
    const Bytes halves = Cut(stored, 2 * weight.k, rows, {2 * columns.begin, 2 * columns.count});
    linear.values = Tensor<Bf16, 2>(rows.count, columns.count);
    for (std::int64_t row = 0; row < rows.count; ++row) {
      for (std::int64_t column = 0; column < columns.count; ++column) {
        linear.values(row, column) = Bf16::FromBits(
            static_cast<std::uint16_t>(halves(row, 2 * column) | halves(row, 2 * column + 1) << 8));
      }
    }
  } else {
    linear.bytes = Cut(stored, weight.k, rows, columns);
  }
  linear.codes = CodesOf(weight, set, linear.has_row_codes ? 1 : 32, rows, columns);
  linear.folds = folds;
  return linear;
}

absl::StatusOr<ExpertPart> PartOfExperts(const MatchedWeight& weight,
                                         const PreparationOptions& options) {
  ExpertPart part = {0, weight.experts, 0, weight.inter()};
  if (options.ranks == 1 || weight.parallel == Parallel::kReplicated) return part;
  const bool gate_up = weight.projection == Projection::kGateUp;
  const bool by_expert = weight.parallel == Parallel::kExpert;
  if (!by_expert && weight.parallel != (gate_up ? Parallel::kColumn : Parallel::kRow)) {
    return absl::InvalidArgumentError("the recipe does not say how ranks share these experts");
  }
  const absl::StatusOr<Range> range = EqualPart(by_expert ? part.experts : part.inter, options);
  if (!range.ok()) return range.status();
  if (by_expert) {
    part.first_expert = range->begin;
    part.experts = range->count;
  } else {
    part.first_inter = range->begin;
    part.inter = range->count;
  }
  return part;
}

LogicalExpert ReadExpert(const MatchedWeight& weight, const TensorSet& set, const ExpertPart& part,
                         std::int64_t expert) {
  const bool gate_up = weight.projection == Projection::kGateUp;
  // `elements` of K in a byte.
  const auto read = [&](std::string WeightPart::* name, std::int64_t elements) {
    const std::int64_t stored_width = weight.k / elements;
    const std::int64_t begin = gate_up ? 0 : part.first_inter / elements;
    const std::int64_t width = gate_up ? stored_width : part.inter / elements;
    const std::int64_t rows = gate_up ? part.inter : weight.n;
    Tensor<std::uint8_t, 3> result(1, gate_up ? 2 * rows : rows, width);
    for (int h = 0; h < (gate_up ? 2 : 1); ++h) {
      const auto half = h == 0 ? WeightPart::Half::kGate : WeightPart::Half::kUp;
      const std::int64_t whose = part.first_expert + expert;
      const WeightPart& tensor = PartOf(weight, whose, half);
      const auto stored = BytesOf(set, tensor.*name);
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t row =
            RowInPart(weight, tensor, whose, half, i + (gate_up ? part.first_inter : 0));
        const std::uint8_t* from = stored.data() + row * stored_width + begin;
        std::copy(from, from + width, &result(0, h * rows + i, 0));
      }
    }
    return result;
  };
  return {read(&WeightPart::weight, 2), read(&WeightPart::scale, 32)};
}

}  // namespace lanewise::tools
