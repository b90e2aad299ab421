// Sources -> memory.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/status.h"
#include "base/text.h"
#include "weights/plan_code_rows.h"
#include "weights/row_conversion.h"
#include "weights/tensor_plan.h"

namespace lanewise {
namespace {

void CheckAgreement(const TensorPlan& plan, const std::uint8_t* first_row, std::int64_t row,
                    FirstFault* fault) {
  for (std::int64_t i = 1; i < plan.agreeing_rows; ++i) {
    const std::uint8_t* other = first_row + i * plan.agreeing_stride;
    if (std::memcmp(other, first_row, plan.source_row_bytes) == 0) continue;
    const auto [a, b] = std::mismatch(other, other + plan.source_row_bytes, first_row);
    fault->Add(row,
               absl::StrFormat(
                   "row scales (%d, %d) are not 32 x 32 blocks: row %d has code %d at column %d, "
                   "row %d has %d",
                   plan.rows() * plan.agreeing_rows, plan.source_row_bytes,
                   row * plan.agreeing_rows + i, *a, a - other, row * plan.agreeing_rows, *b));
    return;
  }
}

bool StreamsTo(PackOptions::Stores stores, std::int64_t bytes) {
  return stores == PackOptions::Stores::kStreaming ||
         (stores == PackOptions::Stores::kAuto && bytes >= kStreamingBytes);
}

void CheckNans(const std::uint8_t* bytes, std::int64_t count, std::int64_t row, FirstFault* fault) {
  const std::uint8_t* found =
      std::find_if(bytes, bytes + count, [](std::uint8_t b) { return (b & 0x7F) == 0x7F; });
  if (found == bytes + count) return;
  fault->Add(row,
             absl::StrFormat("byte 0x%02X at row %d, column %d is an OCP NaN: as FNUZ it would "
                             "read as a finite number",
                             *found, row, found - bytes));
}

// The leads from `first` on that fill `memory`. False where anything has to be refused; what, the
// general way finds again.
bool RunCodeRows(const TensorPlan& plan, const Sources& sources, const RunOptions& options,
                 std::int64_t first, std::span<std::uint8_t> memory) {
  const std::int64_t memory_row_bytes = plan.packer.layout().extent(1);
  const std::int64_t first_row = first * plan.packer.lead_bytes() / memory_row_bytes;
  const CodeRows rows = CodeRowsOf(plan, std::ssize(memory) / memory_row_bytes, options.threads);
  if (!CheckPlaces(plan, SizesOf(sources), {first_row, first_row + rows.rows}).ok()) return false;
  return RaiseCodeRows(
      rows, plan.code_increment, plan.first_refused_code,
      StreamsTo(options.stores, std::ssize(memory)),
      [&](std::int64_t row, std::int64_t end) {
        return RunAt<const std::uint8_t>(plan, sources, first_row + row, first_row + end);
      },
      memory.data());
}

// How many values of the whole plan are not e4m3 x code.
std::int64_t CountInexact(const TensorPlan& plan, const Sources& sources) {
  RowFaults faults;
  const RowConversion& conversion = RowConversion::Of(plan.conversion);
  std::vector<std::uint8_t> scratch(plan.row_bytes);
  for (std::int64_t row = 0; row < plan.rows(); ++row) {
    if (!plan.place(row).IsPadding()) {
      conversion.Convert(plan, sources, row, scratch.data(), &faults);
    }
  }
  return faults.inexact;
}

std::int64_t DataRows(const TensorPlan& plan) {
  std::int64_t rows = 0;
  for (std::int64_t row = 0; row < plan.rows(); ++row) rows += !plan.place(row).IsPadding();
  return rows;
}

}  // namespace

absl::StatusOr<RewriteCounts> RunPlanLeads(const TensorPlan& plan, const Sources& sources,
                                           const RunOptions& options, std::int64_t first,
                                           std::int64_t count, std::span<std::uint8_t> memory) {
  const bool within = first >= 0 && count >= 0 && count <= plan.packer.leads() - first;
  if (within && MovesCodeRows(plan) && std::ssize(memory) == count * plan.packer.lead_bytes() &&
      RunCodeRows(plan, sources, options, first, memory)) {
    return RewriteCounts();
  }
  if (within) {  // where it is not, the packer says so
    LANEWISE_RETURN_IF_ERROR(CheckPlaces(plan, SizesOf(sources), RowsOfLeads(plan, first, count)));
  }
  const ConversionTraits traits = TraitsOf(plan.conversion);
  const RowConversion& conversion = RowConversion::Of(plan.conversion);
  RowFaults faults;
  RowSource source;
  source.valid_bytes = plan.row_bytes;
  source.padding = plan.padding;
  source.computed = traits.computed;
  const bool direct = !source.computed && plan.agreeing_rows == 1;
  if (direct) {
    source.row = [&](std::int64_t row, std::uint8_t*) -> const std::uint8_t* {
      const RowPlace place = plan.place(row);
      return place.IsPadding() ? nullptr : At(sources, place);
    };
  } else {
    source.row = [&](std::int64_t row, std::uint8_t* scratch) -> const std::uint8_t* {
      const RowPlace place = plan.place(row);
      if (place.IsPadding()) return nullptr;
      CheckAgreement(plan, At(sources, place), row, &faults.first);
      if (!source.computed) return At(sources, place);
      conversion.Convert(plan, sources, row, scratch, &faults);
      return scratch;
    };
  }
  if (traits.source_bits == 16 && plan.agreeing_rows == 1) {
    source.code_elements = plan.code_elements();
    source.bf16 = [&](std::int64_t row) -> Bf16Row {
      const RowPlace place = plan.place(row);
      if (place.IsPadding()) return {};
      return {At(sources, place), At(sources, plan.code_place(row))};
    };
  }
  PackOptions pack;
  pack.rewrite = traits.rewrite;
  pack.threads = options.threads;
  pack.stores = options.stores;
  LANEWISE_ASSIGN_OR_RETURN(const RewriteCounts counts,
                            plan.packer.PackLeads(source, pack, first, count, memory));
  if (faults.inexact > 0) {
    return InvalidArgument(
        CountInexact(plan, sources), " of ", DataRows(plan) * plan.elements(),
        " values are not e4m3 x scale; the first: ", StdView(faults.first.status().message()));
  }
  if (faults.first.any()) return faults.first.status();
  if (plan.refuse_nans && counts.nans > 0) {
    FirstFault nan;
    std::vector<std::uint8_t> scratch(plan.row_bytes);
    for (std::int64_t row = 0; row < plan.rows() && !nan.any(); ++row) {
      const std::uint8_t* bytes = source.row(row, scratch.data());
      if (bytes != nullptr) CheckNans(bytes, plan.row_bytes, row, &nan);
    }
    return nan.status();
  }
  return counts;
}

absl::StatusOr<RewriteCounts> RunPlan(const TensorPlan& plan, const Sources& sources,
                                      const RunOptions& options, std::span<std::uint8_t> memory) {
  if (plan.packer.leads() == 0) {
    LANEWISE_RETURN_IF_ERROR(CheckPlaces(plan, SizesOf(sources), {0, plan.rows()}));
  }
  return RunPlanLeads(plan, sources, options, 0, plan.packer.leads(), memory);
}

}  // namespace lanewise
