#include "reference/gfx942/pad_experts.h"

#include <array>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"
#include "reference/rearrange.h"
#include "reference/require.h"

namespace lanewise::reference::gfx942 {
namespace {

using Bytes = Tensor<std::uint8_t, 3>;
using Shape3 = std::array<std::int64_t, 3>;

std::int64_t RoundedUp(std::int64_t size, std::int64_t step) {
  return (size + step - 1) / step * step;
}

// [E, halves, rows, columns] of gate and up rows (two halves) or of w2's rows (one).
Tensor<std::uint8_t, 4> Halves(const Bytes& rows, std::int64_t halves) {
  return Reshaped(rows, std::array<std::int64_t, 4>{rows.dimension(0), halves,
                                                    rows.dimension(1) / halves, rows.dimension(2)});
}

// Every half padded to `rows` rows of `columns` columns.
Bytes Padded(const Bytes& tensor, std::int64_t halves, std::int64_t rows, std::int64_t columns,
             std::uint8_t padding) {
  const Tensor<std::uint8_t, 4> in = Halves(tensor, halves);
  Tensor<std::uint8_t, 4> out(in.dimension(0), halves, rows, columns);
  out.setConstant(padding);
  out.slice(std::array<std::int64_t, 4>{0, 0, 0, 0}, in.dimensions()) = in;
  return Reshaped(out, Shape3{in.dimension(0), halves * rows, columns});
}

// The first `rows` rows and `columns` columns of every half. Refuses another value than `padding`
// in the rest.
absl::StatusOr<Bytes> Cut(const Bytes& tensor, std::string_view name, std::int64_t halves,
                          std::int64_t rows, std::int64_t columns, std::uint8_t padding) {
  const std::int64_t half_rows = tensor.dimension(1) / halves;
  for (std::int64_t expert = 0; expert < tensor.dimension(0); ++expert) {
    for (std::int64_t row = 0; row < tensor.dimension(1); ++row) {
      for (std::int64_t column = 0; column < tensor.dimension(2); ++column) {
        const bool kept = row % half_rows < rows && column < columns;
        const int value = tensor(expert, row, column);
        if (kept || value == padding) continue;
        return absl::InvalidArgumentError(
            absl::StrFormat("%s[%d, %d, %d] is %d: expected padding of %d", AbslView(name), expert,
                            row, column, value, padding));
      }
    }
  }
  const Tensor<std::uint8_t, 4> kept =
      Halves(tensor, halves)
          .slice(std::array<std::int64_t, 4>{0, 0, 0, 0},
                 std::array<std::int64_t, 4>{tensor.dimension(0), halves, rows, columns});
  return Reshaped(kept, Shape3{tensor.dimension(0), halves * rows, columns});
}

// Refuses experts that are not E experts of `inter`, K = `k` and `hidden` rows of w2.
absl::Status CheckShapes(const Experts& t, std::int64_t inter, std::int64_t k,
                         const std::string& beside) {
  const std::int64_t experts = t.w13.dimension(0), hidden = t.w2.dimension(1);
  absl::Status status = RequireShape(t.w13, "w13", {experts, 2 * inter, k / 2}, beside);
  if (status.ok()) {
    status = RequireShape(t.w13_codes, "w13 codes", {experts, 2 * inter, k / 32}, beside);
  }
  if (status.ok()) status = RequireShape(t.w2, "w2", {experts, hidden, inter / 2}, beside);
  if (status.ok()) {
    status = RequireShape(t.w2_codes, "w2 codes", {experts, hidden, inter / 32}, beside);
  }
  return status;
}

absl::Status CheckSizes(std::int64_t inter, std::int64_t k) {
  if (inter > 0 && inter % 32 == 0 && k > 0 && k % 32 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("experts of inter ", inter, " and K ", k,
                                                 ": expected positive multiples of 32"));
}

}  // namespace

absl::StatusOr<Experts> PadExperts(const Experts& plain) {
  const std::int64_t inter = plain.w13.dimension(1) / 2, k = 2 * plain.w13.dimension(2);
  if (absl::Status status = CheckSizes(inter, k); !status.ok()) return status;
  if (absl::Status status =
          CheckShapes(plain, inter, k, absl::StrCat("w13 ", ShapeText(plain.w13)));
      !status.ok()) {
    return status;
  }
  const std::int64_t padded_inter = RoundedUp(inter, kInterMultiple);
  const std::int64_t padded_k = RoundedUp(k, kHiddenMultiple);
  const std::int64_t hidden = plain.w2.dimension(1);
  return Experts{Padded(plain.w13, 2, padded_inter, padded_k / 2, 0),
                 Padded(plain.w13_codes, 2, padded_inter, padded_k / 32, kExpertPaddingCode),
                 Padded(plain.w2, 1, hidden, padded_inter / 2, 0),
                 Padded(plain.w2_codes, 1, hidden, padded_inter / 32, kExpertPaddingCode)};
}

absl::StatusOr<Experts> UndoPadExperts(const Experts& padded, std::int64_t inter, std::int64_t k) {
  if (absl::Status status = CheckSizes(inter, k); !status.ok()) return status;
  if (absl::Status status =
          CheckShapes(padded, RoundedUp(inter, kInterMultiple), RoundedUp(k, kHiddenMultiple),
                      absl::StrCat("inter ", inter, " and K ", k));
      !status.ok()) {
    return status;
  }
  const std::int64_t hidden = padded.w2.dimension(1);
  absl::StatusOr<Bytes> w13 = Cut(padded.w13, "w13", 2, inter, k / 2, 0);
  if (!w13.ok()) return w13.status();
  absl::StatusOr<Bytes> w13_codes =
      Cut(padded.w13_codes, "w13 codes", 2, inter, k / 32, kExpertPaddingCode);
  if (!w13_codes.ok()) return w13_codes.status();
  absl::StatusOr<Bytes> w2 = Cut(padded.w2, "w2", 1, hidden, inter / 2, 0);
  if (!w2.ok()) return w2.status();
  absl::StatusOr<Bytes> w2_codes =
      Cut(padded.w2_codes, "w2 codes", 1, hidden, inter / 32, kExpertPaddingCode);
  if (!w2_codes.ok()) return w2_codes.status();
  return Experts{*w13, *w13_codes, *w2, *w2_codes};
}

}  // namespace lanewise::reference::gfx942
