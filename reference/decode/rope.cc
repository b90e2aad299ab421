#include "reference/decode/rope.h"

#include <cstddef>
#include <vector>

#include "base/status.h"

namespace lanewise::reference {
namespace {

absl::Status CheckTable(std::span<const float> values, std::span<const float> cos_sin) {
  if (values.size() % 2 == 0 && cos_sin.size() == values.size()) return absl::OkStatus();
  return InvalidArgument("rotary embedding of ", values.size(), " values with ", cos_sin.size(),
                         " cosines and sines: expected an even number, and as many of both");
}

// cos_sin with pairs of cosine 1 and sine 0 in front, for `count` values.
absl::StatusOr<std::vector<float>> WithIdentity(std::size_t count, std::span<const float> cos_sin) {
  if (cos_sin.size() > count || cos_sin.size() % 2 != 0 || count % 2 != 0) {
    return InvalidArgument("a head of ", count, " values of which ", cos_sin.size(),
                           " are rotated: expected even numbers, and no more than there are");
  }
  const std::size_t half = count / 2, rotated = cos_sin.size() / 2;
  std::vector<float> table(count, 0.0f);
  for (std::size_t i = 0; i < half; ++i) {
    const bool is_rotated = i >= half - rotated;
    table[i] = is_rotated ? cos_sin[i - (half - rotated)] : 1.0f;
    if (is_rotated) table[half + i] = cos_sin[rotated + i - (half - rotated)];
  }
  return table;
}

}  // namespace

absl::Status Rope(std::span<float> values, std::span<const float> cos_sin) {
  LANEWISE_RETURN_IF_ERROR(CheckTable(values, cos_sin));
  const std::size_t half = values.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const float a = values[2 * i], b = values[2 * i + 1];
    const float c = cos_sin[i], s = cos_sin[half + i];
    values[2 * i] = a * c - b * s;
    values[2 * i + 1] = a * s + b * c;
  }
  return absl::OkStatus();
}

absl::Status InverseRope(std::span<float> values, std::span<const float> cos_sin) {
  LANEWISE_RETURN_IF_ERROR(CheckTable(values, cos_sin));
  const std::size_t half = values.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const float a = values[2 * i], b = values[2 * i + 1];
    const float c = cos_sin[i], s = cos_sin[half + i];
    values[2 * i] = a * c + b * s;
    values[2 * i + 1] = b * c - a * s;
  }
  return absl::OkStatus();
}

absl::Status RopeOfHead(std::span<float> head, std::span<const float> cos_sin) {
  LANEWISE_ASSIGN_OR_RETURN(const std::vector<float> table, WithIdentity(head.size(), cos_sin));
  return Rope(head, table);
}

absl::Status InverseRopeOfHead(std::span<float> head, std::span<const float> cos_sin) {
  LANEWISE_ASSIGN_OR_RETURN(const std::vector<float> table, WithIdentity(head.size(), cos_sin));
  return InverseRope(head, table);
}

}  // namespace lanewise::reference
