#include "checkpoint/prepare/touched_bytes.h"

#include <algorithm>
#include <utility>

#include "checkpoint/files/mapped_file.h"

namespace lanewise {
namespace {

void Add(int source, std::int64_t begin, std::int64_t end, std::vector<TouchedBytes>* touched) {
  // Rows come in order, of few sources at a time: the last ones are the likeliest.
  for (auto run = touched->rbegin(); run != touched->rend(); ++run) {
    if (run->source != source) continue;
    run->begin = std::min(run->begin, begin);
    run->end = std::max(run->end, end);
    return;
  }
  touched->push_back({source, begin, end});
}

}  // namespace

std::vector<TouchedBytes> TouchedByRows(const TensorPlan& plan, std::int64_t begin,
                                        std::int64_t end) {
  std::vector<TouchedBytes> touched;
  for (std::int64_t row = begin; row < end; ++row) {
    const RowPlace place = plan.place(row);
    if (place.IsPadding()) continue;
    Add(place.source, place.offset, place.offset + plan.source_extent(), &touched);
    if (plan.code_place == nullptr) continue;
    const RowPlace code_place = plan.code_place(row);
    Add(code_place.source, code_place.offset, code_place.offset + plan.code_bytes(), &touched);
  }
  return touched;
}

std::vector<TouchedBytes> TouchedByLeads(const TensorPlan& plan, std::int64_t first,
                                         std::int64_t count) {
  const RowRange rows = RowsOfLeads(plan, first, count);
  return TouchedByRows(plan, rows.begin, rows.end);
}

std::int64_t PageBytes(const Sources& sources, std::span<const TouchedBytes> touched) {
  const auto block = static_cast<std::uintptr_t>(kPageBlockBytes);
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> runs;  // blocks [first, second)
  for (const TouchedBytes& run : touched) {
    const auto begin = reinterpret_cast<std::uintptr_t>(sources[run.source].data() + run.begin);
    runs.emplace_back(begin / block, (begin + run.size() + block - 1) / block);
  }
  std::sort(runs.begin(), runs.end());
  std::uintptr_t blocks = 0, counted = 0;  // all below `counted` are in
  for (const auto& [first, last] : runs) {
    const std::uintptr_t from = std::max(first, counted);
    if (last > from) blocks += last - from;
    counted = std::max(counted, last);
  }
  return static_cast<std::int64_t>(blocks * block);
}

}  // namespace lanewise
