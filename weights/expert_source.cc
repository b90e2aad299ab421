#include "weights/expert_source.h"

#include "absl/strings/str_cat.h"

namespace lanewise {

absl::Status CheckExperts(const GateUpSource& source) {
  if (source.experts >= 0 && source.hidden >= 0 && source.inter >= 0 && source.hidden % 32 == 0 &&
      source.inter % 32 == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(source.experts, " experts of hidden size ",
                                                 source.hidden, " and intermediate size ",
                                                 source.inter, ": expected multiples of 32"));
}

absl::Status CheckExperts(const DownSource& source) {
  // Tiles of 16 rows lie within an expert: the rows of all experts together are not enough.
  if (source.out % 16 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(source.out, " output rows of an expert: expected a multiple of 16"));
  }
  if (source.experts >= 0 && source.out >= 0 && source.inter >= 0 && source.inter % 32 == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(source.experts, " experts of ", source.out,
                                                 " output rows and intermediate size ",
                                                 source.inter, ": expected a multiple of 32"));
}

std::function<RowPlace(std::int64_t)> GateUpRows(const GateUpSource::Place& place,
                                                 GateUpRowOrder order, std::int64_t inter,
                                                 std::int64_t padded_inter) {
  return [=](std::int64_t row) {
    const std::int64_t expert = row / (2 * padded_inter);
    const std::int64_t in_expert = row % (2 * padded_inter);
    const bool interleaved = order == GateUpRowOrder::kInterleaved;
    const int half = static_cast<int>(interleaved ? in_expert % 2 : in_expert / padded_inter);
    const std::int64_t i = interleaved ? in_expert / 2 : in_expert % padded_inter;
    return i < inter ? place(expert, half, i) : RowPlace::Padding();
  };
}

std::function<RowPlace(std::int64_t)> DownRows(const DownSource::Place& place, std::int64_t out) {
  return [=](std::int64_t row) { return place(row / out, row % out); };
}

}  // namespace lanewise
