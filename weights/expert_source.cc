#include "weights/expert_source.h"

#include "absl/strings/str_cat.h"

namespace lanewise {

absl::Status CheckExpertSource(const ExpertSource& source) {
  if (source.experts < 0 || source.hidden < 0 || source.inter < 0 || source.out < 0 ||
      source.hidden % 32 != 0 || source.inter % 32 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        source.experts, " experts of hidden size ", source.hidden, ", intermediate size ",
        source.inter, " and ", source.out,
        " output rows: expected hidden and intermediate sizes that are multiples of 32"));
  }
  return absl::OkStatus();
}

std::function<RowPlace(std::int64_t)> GateUpRows(
    const std::function<RowPlace(std::int64_t, int, std::int64_t)>& place, GateUpOrder order,
    std::int64_t inter, std::int64_t padded_inter) {
  return [=](std::int64_t row) {
    const std::int64_t expert = row / (2 * padded_inter);
    const std::int64_t in_expert = row % (2 * padded_inter);
    const bool interleaved = order == GateUpOrder::kInterleaved;
    const int half = static_cast<int>(interleaved ? in_expert % 2 : in_expert / padded_inter);
    const std::int64_t i = interleaved ? in_expert / 2 : in_expert % padded_inter;
    return i < inter ? place(expert, half, i) : RowPlace::Padding();
  };
}

std::function<RowPlace(std::int64_t)> DownRows(
    const std::function<RowPlace(std::int64_t, std::int64_t)>& place, std::int64_t out) {
  return [=](std::int64_t row) { return place(row / out, row % out); };
}

}  // namespace lanewise
