#include "tests/differential/ops/dense_operands.h"

#include "absl/strings/str_cat.h"
#include "tests/differential/ops/weight_arguments.h"

namespace lanewise::differential {
namespace {

// Where seed 000's dense_copy has row n, column k, the latter in its chunk's order.
std::int64_t CopyOffset(std::int64_t n, std::int64_t k, std::int64_t padded_k) {
  return (n / 16 * (padded_k / 128) + k / 128) * 2048 + k % 128 / 64 * 1024 + k % 32 / 8 * 256 +
         n % 16 * 16 + k % 64 / 32 * 8 + k % 8;
}

}  // namespace

Argument DenseCopyBytes(const std::string& name, const std::string& rows, const std::string& k) {
  return {.name = name,
          .format = "e4m3fnuz",
          .extents = {rows, absl::StrCat("roundup(", k, ", 128)")},
          // The copy has none.
          .allow_nan = false,
          .negate_second_half = true};
}

Argument DenseCopyCodes(const std::string& name, const std::string& rows, const std::string& k,
                        int lower) {
  return WeightCodes(
      name, {absl::StrCat("ceil(", rows, ", 32)"), absl::StrCat("roundup(", k, ", 128) / 32")},
      lower, /*code_limit=*/251);
}

DenseRows RowsOfCopy(const Call& call, std::string_view name, std::string_view codes_name,
                     std::int64_t first, std::int64_t rows, std::int64_t k) {
  const std::int64_t padded_k = call.At(name).extents[1];
  const auto* const bytes = call.Data<std::uint8_t>(name);
  const auto* const codes = call.Data<std::uint8_t>(codes_name);
  DenseRows copy = {Tensor<std::uint8_t, 2>(rows, k), Tensor<std::uint8_t, 2>(rows, k / 32)};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < k; ++i) {
      copy.elements(row, i) = bytes[CopyOffset(first + row, i, padded_k)];
    }
    for (std::int64_t block = 0; block < k / 32; ++block) {
      copy.codes(row, block) = codes[(first + row) / 32 * (padded_k / 32) + block];
    }
  }
  return copy;
}

}  // namespace lanewise::differential
