#include "reference/gfx942/moe.h"

#include <array>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"
#include "reference/gfx942/codes.h"
#include "reference/gfx942/fp4.h"
#include "reference/rearrange.h"
#include "reference/require.h"

namespace lanewise::reference::gfx942 {
namespace {

using Bytes = Tensor<std::uint8_t, 3>;
using Shape3 = std::array<std::int64_t, 3>;
using Shape4 = std::array<std::int64_t, 4>;

// The first `columns` columns of every row.
Bytes FirstColumns(const Bytes& rows, std::int64_t columns) {
  return rows.slice(Shape3{0, 0, 0}, Shape3{rows.dimension(0), rows.dimension(1), columns});
}

// `rows` with columns of `padding` added, up to `columns`.
Bytes PaddedColumns(const Bytes& rows, std::int64_t columns, std::uint8_t padding) {
  Bytes padded(rows.dimension(0), rows.dimension(1), columns);
  padded.setConstant(padding);
  padded.slice(Shape3{0, 0, 0}, rows.dimensions()) = rows;
  return padded;
}

// Interleaved rows -> gate rows and up rows, each padded with rows of `padding` up to `padded`.
Bytes Apart(const Bytes& rows, std::int64_t padded, std::uint8_t padding) {
  const std::int64_t experts = rows.dimension(0), inter = rows.dimension(1) / 2;
  const std::int64_t columns = rows.dimension(2);
  Tensor<std::uint8_t, 4> halves(experts, 2, padded, columns);
  halves.setConstant(padding);
  // [expert, half, row, column] <- [expert, row, half, column]
  halves.slice(Shape4{0, 0, 0, 0}, Shape4{experts, 2, inter, columns}) =
      Rearranged(rows, Factors{experts, 2, inter, columns}, Order{0, 2, 1, 3},
                 Shape4{experts, 2, inter, columns}, Way::kBack);
  return Reshaped(halves, Shape3{experts, 2 * padded, columns});
}

// What the four shapes have to be, given E, H, K and R of w13 and w2.
absl::Status CheckShapes(const Experts& t) {
  const std::int64_t experts = t.w13.dimension(0), rows = t.w13.dimension(1);
  const std::int64_t k = 2 * t.w13.dimension(2), hidden = t.w2.dimension(1);
  const std::string beside = absl::StrCat("w13 ", ShapeText(t.w13));
  if (absl::Status status = RequireMultiple(t.w13, "w13", 1, 2); !status.ok()) return status;
  const std::int64_t inter = rows / 2;
  if (inter % 32 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(beside, ": an intermediate size of ", inter, " is not a multiple of 32"));
  }
  if (absl::Status status = RequireShape(t.w13_codes, "w13 codes", {experts, rows, k / 32}, beside);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = RequireShape(t.w2, "w2", {experts, hidden, inter / 2}, beside);
      !status.ok()) {
    return status;
  }
  return RequireShape(t.w2_codes, "w2 codes", {experts, hidden, inter / 32},
                      absl::StrCat("w2 ", ShapeText(t.w2), " and ", beside));
}

// Refuses the first byte of `bytes` for which `is_bad` holds.
template <class Predicate>
absl::Status RefuseWhere(const Bytes& bytes, std::string_view name, Predicate is_bad,
                         std::string_view why) {
  for (std::int64_t expert = 0; expert < bytes.dimension(0); ++expert) {
    for (std::int64_t row = 0; row < bytes.dimension(1); ++row) {
      for (std::int64_t column = 0; column < bytes.dimension(2); ++column) {
        const std::uint8_t byte = bytes(expert, row, column);
        if (is_bad(row, column, byte)) {
          return absl::InvalidArgumentError(absl::StrFormat("%s[%d, %d, %d] is %d (0x%02X): %s",
                                                            AbslView(name), expert, row, column,
                                                            byte, byte, AbslView(why)));
        }
      }
    }
  }
  return absl::OkStatus();
}

// Codes that are not 0.
std::int64_t CountNonzero(const Bytes& codes) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < codes.size(); ++i) count += codes.data()[i] != 0;
  return count;
}

absl::Status CheckPadding(const Experts& plain, std::int64_t inter) {
  const std::int64_t padded = plain.w13.dimension(1) / 2;
  const auto w13_padding = [&](std::int64_t row, std::int64_t, std::uint8_t byte) {
    return row % padded >= inter && byte != 0;
  };
  const auto w2_padding = [&](std::int64_t, std::int64_t column, std::uint8_t byte) {
    return column >= inter / 2 && byte != 0;
  };
  const std::string why =
      absl::StrCat("the expert padding from ", inter, " to ", padded, " is not zero");
  if (absl::Status status = RefuseWhere(plain.w13, "w13", w13_padding, why); !status.ok()) {
    return status;
  }
  return RefuseWhere(plain.w2, "w2", w2_padding, why);
}

}  // namespace

absl::StatusOr<Bytes> InterleaveGateUp(const Bytes& rows, std::int64_t inter) {
  if (absl::Status status = RequireMultiple(rows, "gate and up rows", 1, 2); !status.ok()) {
    return status;
  }
  const std::int64_t experts = rows.dimension(0), padded = rows.dimension(1) / 2;
  const std::int64_t columns = rows.dimension(2);
  if (inter < 0 || inter > padded) {
    return absl::InvalidArgumentError(absl::StrCat("gate and up rows ", ShapeText(rows), ": inter ",
                                                   inter, " is not in 0..", padded));
  }
  const Tensor<std::uint8_t, 4> halves =
      Reshaped(rows, Shape4{experts, 2, padded, columns})
          .slice(Shape4{0, 0, 0, 0}, Shape4{experts, 2, inter, columns});
  // [expert, half, row, column] -> [expert, row, half, column]
  return Rearranged(halves, Factors{experts, 2, inter, columns}, Order{0, 2, 1, 3},
                    Shape3{experts, 2 * inter, columns}, Way::kForward);
}

absl::StatusOr<Bytes> UndoInterleaveGateUp(const Bytes& rows, std::int64_t padded) {
  if (absl::Status status = RequireMultiple(rows, "interleaved rows", 1, 2); !status.ok()) {
    return status;
  }
  if (padded < rows.dimension(1) / 2) {
    return absl::InvalidArgumentError(absl::StrCat("interleaved rows ", ShapeText(rows),
                                                   " do not fit into ", padded, " of each half"));
  }
  return Apart(rows, padded, 0);
}

absl::StatusOr<ExpertsCopied> MoeCopies(const Experts& plain, std::int64_t inter,
                                        const Checks& checks) {
  if (absl::Status status = CheckShapes(plain); !status.ok()) return status;
  const std::int64_t padded = plain.w13.dimension(1) / 2;
  if (inter < 0 || inter > padded || inter % 32 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("inter ", inter,
                                                   " is not a multiple of 32 in 0..", padded,
                                                   " of w13 ", ShapeText(plain.w13)));
  }
  if (absl::Status status = CheckPadding(plain, inter); !status.ok()) return status;
  if (checks.large_codes) {
    const auto w13_large = [&](std::int64_t row, std::int64_t, std::uint8_t code) {
      return row % padded < inter && code >= kFirstRefusedCode;
    };
    const auto w2_large = [&](std::int64_t, std::int64_t column, std::uint8_t code) {
      return column < inter / 32 && code >= kFirstRefusedCode;
    };
    const char* why = "a copy takes codes below 250 only";
    absl::Status status = RefuseWhere(plain.w13_codes, "w13 codes", w13_large, why);
    if (status.ok()) status = RefuseWhere(plain.w2_codes, "w2 codes", w2_large, why);
    if (!status.ok()) return status;
  }

  ExpertsCopied result;
  absl::StatusOr<Bytes> w13 = InterleaveGateUp(plain.w13, inter);
  if (!w13.ok()) return w13.status();
  absl::StatusOr<Bytes> w13_codes = InterleaveGateUp(plain.w13_codes, inter);
  if (!w13_codes.ok()) return w13_codes.status();
  Bytes w2 = FirstColumns(plain.w2, inter / 2);
  const Bytes w2_codes = FirstColumns(plain.w2_codes, inter / 32);
  result.discarded_codes = CountNonzero(plain.w13_codes) - CountNonzero(*w13_codes) +
                           CountNonzero(plain.w2_codes) - CountNonzero(w2_codes);
  result.negative_zeros = Fp4DropNegativeZero(&*w13) + Fp4DropNegativeZero(&w2);

  absl::StatusOr<Bytes> w13_tiles = Fp4TileMajor(*w13);
  if (!w13_tiles.ok()) return w13_tiles.status();
  absl::StatusOr<Bytes> w13_rounds = CodesTileRounds(*w13_codes);
  if (!w13_rounds.ok()) return w13_rounds.status();
  absl::StatusOr<Bytes> w2_tiles = Fp4TileMajor(w2);
  if (!w2_tiles.ok()) return w2_tiles.status();
  result.experts = Experts{*w13_tiles, *w13_rounds, *w2_tiles, w2_codes};
  return result;
}

absl::StatusOr<Experts> UndoMoeCopies(const Experts& copies, std::int64_t padded,
                                      std::uint8_t padding_code) {
  if (absl::Status status = CheckShapes(copies); !status.ok()) return status;
  const std::int64_t inter = copies.w13.dimension(1) / 2;
  if (padded < inter || padded % 32 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a padded size of ", padded, " is not a multiple of 32 from ", inter, " on"));
  }
  absl::StatusOr<Bytes> w13 = UndoFp4TileMajor(copies.w13);
  if (!w13.ok()) return w13.status();
  absl::StatusOr<Bytes> w13_codes = UndoCodesTileRounds(copies.w13_codes);
  if (!w13_codes.ok()) return w13_codes.status();
  absl::StatusOr<Bytes> w2 = UndoFp4TileMajor(copies.w2);
  if (!w2.ok()) return w2.status();
  const auto negative_zero = [](std::int64_t, std::int64_t, std::uint8_t byte) {
    return (byte & 0x0F) == 0x08 || (byte & 0xF0) == 0x80;
  };
  const char* why = "a copy holds no -0 nibble (0x8)";
  absl::Status status = RefuseWhere(*w13, "interleaved w13", negative_zero, why);
  if (status.ok()) status = RefuseWhere(*w2, "w2", negative_zero, why);
  if (!status.ok()) return status;
  return Experts{Apart(*w13, padded, 0), Apart(*w13_codes, padded, padding_code),
                 PaddedColumns(*w2, padded / 2, 0),
                 PaddedColumns(copies.w2_codes, padded / 32, padding_code)};
}

}  // namespace lanewise::reference::gfx942
