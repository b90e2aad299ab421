#include "tools/verify/stored_form.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"

namespace lanewise::tools {
namespace {

// What bytes of a layout may be: its name where they are not, and what is wrong with such a byte.
struct Rule {
  std::string_view layout;
  bool (*is_wrong)(std::uint8_t byte);
  const char* why;
};

constexpr bool IsFnuzNan(std::uint8_t byte) { return byte == 0x80; }
constexpr bool IsNoRaisedCode(std::uint8_t code) { return code == 0 || code > 250; }
constexpr bool IsLargeCode(std::uint8_t code) { return code >= 250; }
constexpr bool HasNegativeZero(std::uint8_t byte) { return (byte & 15) == 8 || byte >> 4 == 8; }

constexpr Rule kRules[] = {
    {layout_tag::kGfx942Dense, IsFnuzNan, "the FNUZ NaN, which no OCP byte becomes"},
    {layout_tag::kGfx942DenseChunkQ, IsFnuzNan, "the FNUZ NaN, which no OCP byte becomes"},
    {layout_tag::kGfx942DenseCodes, IsNoRaisedCode, "expected a raised code, 1 to 250"},
    {layout_tag::kGfx942Fp4LaneMajor, HasNegativeZero, "a -0 nibble, which the kernels misread"},
    {layout_tag::kGfx942Fp4TileMajor, HasNegativeZero, "a -0 nibble, which the kernels misread"},
    {layout_tag::kGfx942CodesTileRounds, IsLargeCode, "expected a code below 250"},
    {layout_tag::kGfx942RowCodes, IsLargeCode, "expected a code below 250"},
};

std::int64_t RoundUp(std::int64_t size, std::int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

struct Size {
  std::int64_t rows = 0;
  std::int64_t columns = 0;  // bytes a row
};

// Multiples that a layout's rows and bytes a row have, padded or not.
struct Multiples {
  std::string_view layout;
  std::int64_t rows;
  std::int64_t columns;
};
constexpr Multiples kMultiples[] = {
    {layout_tag::kGfx942Dense, 16, 128},      {layout_tag::kGfx942DenseChunkQ, 16, 128},
    {layout_tag::kGfx942DenseCodes, 1, 4},    {layout_tag::kGfx942Fp4TileMajor, 16, 32},
    {layout_tag::kGfx942Fp4LaneMajor, 1, 32}, {layout_tag::kGfx942CodesTileRounds, 16, 1},
    {layout_tag::kGfx942RowCodes, 1, 1},      {layout_tag::kAiterShuffleWeight, 16, 32},
    {layout_tag::kAiterE8m0Shuffle, 256, 8},  {layout_tag::kFlashmlaQFused, 1, 1},
    {layout_tag::kFlashmlaOFused, 1, 1},      {layout_tag::kFlashmlaOFusedChunk, 1, 1},
};

// A parameter that sizes the padding, or `otherwise`.
std::int64_t IntOr(const PreparedTensor& what, std::string_view name, std::int64_t otherwise) {
  return what.IntParam(name).value_or(otherwise);
}

absl::StatusOr<std::int64_t> ExpectedBytes(const PreparedTensor& what) {
  if (what.layout == layout_tag::kPlain) return ByteCount(what.dtype, what.shape);
  // The number of elements, and so every product below of some extents, fits int64.
  if (const auto elements = ElementCount(what.shape); !elements.ok()) return elements.status();
  const std::size_t rank = what.shape.size();
  if (rank < 2) {
    return absl::InvalidArgumentError(absl::StrCat("a logical shape of ", rank, " dimensions"));
  }
  const std::int64_t experts = rank == 3 ? what.shape[0] : 1;
  Size size = {what.shape[rank - 2], what.shape[rank - 1]};
  const bool is_fp4 = what.dtype == DType::kF4;
  const bool is_code = what.dtype == DType::kF8E8m0;
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  std::int64_t padded_k = IntOr(what, "padded_k", 0);
  const std::int64_t padded_inter = IntOr(what, "padded_inter", 0);
  for (const std::int64_t value : {size.rows, size.columns, padded_k, padded_inter}) {
    if (value < 0 || value > kLargest) {
      return absl::InvalidArgumentError(absl::StrCat("an extent or a parameter of ", value));
    }
  }
  if (is_code && padded_k > 0) padded_k /= 32;
  if (padded_k > 0 && padded_k < size.columns) {
    return absl::InvalidArgumentError(
        absl::StrCat("padded_k = ", IntOr(what, "padded_k", 0), " is less than the logical K"));
  }
  if (padded_k > 0) size.columns = padded_k;
  if (2 * padded_inter > 0 && 2 * padded_inter < size.rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("padded_inter = ", padded_inter, " is less than the logical rows"));
  }
  if (padded_inter > 0) size.rows = 2 * padded_inter;
  if (is_fp4) size.columns /= 2;
  if (what.layout == layout_tag::kAiterE8m0Shuffle) {
    return RoundUp(experts * size.rows, 256) * RoundUp(size.columns, 8);
  }
  for (const Multiples& of : kMultiples) {
    if (of.layout != what.layout) continue;
    if (size.rows % of.rows != 0 || size.columns % of.columns != 0) {
      return absl::InvalidArgumentError(absl::StrCat(size.rows, " rows of ", size.columns,
                                                     " bytes: expected multiples of ", of.rows,
                                                     " and ", of.columns));
    }
    return experts * size.rows * size.columns;
  }
  return absl::InvalidArgumentError("a layout that is not known");
}

absl::Status Refused(std::string_view name, const PreparedTensor& what, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(AbslView(name), " (", what.layout, "): ", why));
}

}  // namespace

absl::Status CheckStoredSize(std::string_view name, const PreparedTensor& what,
                             std::int64_t bytes) {
  const absl::StatusOr<std::int64_t> expected = ExpectedBytes(what);
  if (!expected.ok()) return Refused(name, what, std::string(expected.status().message()));
  if (*expected == bytes) return absl::OkStatus();
  return Refused(
      name, what,
      absl::StrCat(bytes, " bytes, expected ", *expected, " by its logical shape and parameters"));
}

absl::Status CheckStoredBytes(std::string_view name, const PreparedTensor& what,
                              std::int64_t offset, std::span<const std::uint8_t> piece) {
  for (const Rule& rule : kRules) {
    if (rule.layout != what.layout) continue;
    const auto wrong = std::find_if(piece.begin(), piece.end(), rule.is_wrong);
    if (wrong == piece.end()) continue;
    return Refused(name, what,
                   absl::StrFormat("byte %d is 0x%02X: %s", offset + (wrong - piece.begin()),
                                   *wrong, rule.why));
  }
  return absl::OkStatus();
}

}  // namespace lanewise::tools
