// Memory -> sources.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "weights/block_kernels.h"
#include "weights/lead_rows.h"
#include "weights/parallel.h"
#include "weights/plan_code_rows.h"
#include "weights/row_conversion.h"
#include "weights/tensor_plan.h"

namespace lanewise {
namespace {

// What a thread takes back to rows at a time before it undoes their conversion: within its L2
// cache.
constexpr std::int64_t kRestoredBytes = 256 * 1024;

// Rows [rows.begin, rows.end) of codes, which `memory` holds. False where a code is too small to
// have been raised; which, the general way finds again.
bool RestoreCodeRows(const TensorPlan& plan, std::span<const std::uint8_t> memory, RowRange rows,
                     int threads, const Sinks& sinks) {
  return LowerCodeRows(CodeRowsOf(plan, rows.end - rows.begin, threads), plan.code_increment,
                       std::ssize(memory) >= kStreamingBytes, memory.data(),
                       [&](std::int64_t row, std::int64_t end) {
                         return RunAt<std::uint8_t>(plan, sinks, rows.begin + row,
                                                    rows.begin + end);
                       });
}

// Undoes rows that were taken out of memory into buffers.
class RowUndoer {
 public:
  RowUndoer(const TensorPlan& plan, const Sinks& sinks, bool streaming)
      : plan_(plan),
        conversion_(RowConversion::Of(plan.conversion)),
        sinks_(sinks),
        streaming_(streaming),
        row_bytes_(plan.packer.layout().extent(1)) {}

  // `threads`, where rows have places of their own.
  int Threads(int threads) const { return conversion_.OwnPlaces() ? threads : 1; }

  // Rows [begin, end); `buffer` begins with row `first`.
  void Undo(const std::vector<std::uint8_t>& buffer, std::int64_t first, std::int64_t begin,
            std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const RowPlace place = plan_.place(row);
      if (place.IsPadding()) continue;
      const std::uint8_t* converted = buffer.data() + (row - first) * row_bytes_;
      conversion_.Undo(plan_, converted, row, streaming_, sinks_, &faults_);
      std::uint8_t* to = At(sinks_, place);
      for (std::int64_t i = 1; i < plan_.agreeing_rows; ++i) {
        std::memcpy(to + i * plan_.agreeing_stride, to, plan_.source_row_bytes);
      }
    }
    if (streaming_) StreamFence();
  }

  RowFaults& faults() { return faults_; }

 private:
  const TensorPlan& plan_;
  const RowConversion& conversion_;
  const Sinks& sinks_;
  const bool streaming_;
  const std::int64_t row_bytes_;
  RowFaults faults_;
};

// Leads that are whole rows, a few at a time.
absl::Status RestoreWholeRows(const TensorPlan& plan, std::span<const std::uint8_t> memory,
                              std::int64_t first, std::int64_t count, int threads,
                              RowUndoer* undoer) {
  const Packer& packer = plan.packer;
  const std::int64_t row_bytes = packer.layout().extent(1);
  const std::int64_t lead_rows = LeadRowsOf(packer).rows;
  const std::int64_t at_once = std::clamp<std::int64_t>(
      kRestoredBytes / std::max<std::int64_t>(1, packer.lead_bytes()), 1, count);
  ParallelFor(count, undoer->Threads(threads), [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<std::uint8_t> rows(at_once * packer.lead_bytes());
    for (std::int64_t i = begin; i < end; i += at_once) {
      const std::int64_t some = std::min(at_once, end - i);
      const std::int64_t first_row = (first + i) * lead_rows;
      const RowSink sink = {
          [&](std::int64_t row) { return rows.data() + (row - first_row) * row_bytes; },
          plan.row_bytes};
      const absl::Status status =
          packer.UnpackLeads(memory.subspan(i * packer.lead_bytes(), some * packer.lead_bytes()),
                             first + i, some, sink, 1);
      if (!status.ok()) {
        undoer->faults().first.Add(first_row, std::string(StdView(status.message())));
        return;
      }
      undoer->Undo(rows, first_row, first_row, first_row + some * lead_rows);
    }
  });
  return undoer->faults().first.status();
}

// All leads, where each has bytes of rows from anywhere.
absl::Status RestoreSpreadRows(const TensorPlan& plan, std::span<const std::uint8_t> memory,
                               int threads, RowUndoer* undoer) {
  std::vector<std::uint8_t> rows(plan.bytes());
  const RowSink sink = ContiguousSink(rows, plan.packer.layout().extent(1));
  LANEWISE_RETURN_IF_ERROR(plan.packer.Unpack(memory, sink, threads));
  ParallelFor(
      plan.rows(), undoer->Threads(threads),
      [&](std::int64_t begin, std::int64_t end, int) { undoer->Undo(rows, 0, begin, end); });
  return undoer->faults().first.status();
}

}  // namespace

absl::Status RestorePlanLeads(const TensorPlan& plan, std::span<const std::uint8_t> memory,
                              std::int64_t first, std::int64_t count, int threads,
                              const Sinks& sinks) {
  const Packer& packer = plan.packer;
  const RowSink direct = {[&](std::int64_t row) -> std::uint8_t* {
                            const RowPlace place = plan.place(row);
                            return place.IsPadding() ? nullptr : At(sinks, place);
                          },
                          plan.row_bytes};
  const bool within = first >= 0 && count >= 0 && count <= packer.leads() - first;
  if (within) {
    LANEWISE_RETURN_IF_ERROR(CheckPlaces(plan, SizesOf(sinks), RowsOfLeads(plan, first, count)));
  }
  // What is wrong with leads or memory, the packer says; so it does where there is nothing to do.
  const bool fits = within && count > 0 && std::ssize(memory) == count * packer.lead_bytes();
  if (!fits || (!TraitsOf(plan.conversion).computed && plan.agreeing_rows == 1)) {
    return packer.UnpackLeads(memory, first, count, direct, threads);
  }
  // What is not done byte by byte is undone from a buffer: rows differ in width from their places,
  // and several may share one.
  const bool whole_rows = LeadRowsOf(packer).contiguous;
  if (!whole_rows && count != packer.leads()) {
    return InvalidArgument(
        "leads ", first, " .. ", first + count, " of ", packer.leads(),
        ": rows of this layout are spread over all leads, which must be restored together");
  }
  if (whole_rows && MovesCodeRows(plan) &&
      RestoreCodeRows(plan, memory, RowsOfLeads(plan, first, count), threads, sinks)) {
    return absl::OkStatus();
  }
  RowUndoer undoer(plan, sinks, std::ssize(memory) >= kStreamingBytes);
  return whole_rows ? RestoreWholeRows(plan, memory, first, count, threads, &undoer)
                    : RestoreSpreadRows(plan, memory, threads, &undoer);
}

absl::Status RestorePlan(const TensorPlan& plan, std::span<const std::uint8_t> memory, int threads,
                         const Sinks& sinks) {
  if (plan.packer.leads() == 0) {
    LANEWISE_RETURN_IF_ERROR(CheckPlaces(plan, SizesOf(sinks), {0, plan.rows()}));
  }
  return RestorePlanLeads(plan, memory, 0, plan.packer.leads(), threads, sinks);
}

}  // namespace lanewise
