#ifndef LANEWISE_WEIGHTS_PLAN_CODE_ROWS_H_
#define LANEWISE_WEIGHTS_PLAN_CODE_ROWS_H_

// Plans that only raise scale codes: their rows stay rows, so that those which follow each other are
// moved as one (code_rows.h), in both directions. For tensor_plan alone.

#include <cstdint>

#include "weights/code_rows.h"
#include "weights/row_conversion.h"
#include "weights/tensor_plan.h"

namespace lanewise {

// Whether rows of codes stay rows, each for itself.
bool MovesCodeRows(const TensorPlan& plan);

CodeRows CodeRowsOf(const TensorPlan& plan, std::int64_t rows, int threads);

// The rows of `plan` that follow each other from `row` on, before `end`, at places in `spans`.
template <class Byte, class Spans>
CodeRun<Byte> RunAt(const TensorPlan& plan, const Spans& spans, std::int64_t row,
                    std::int64_t end) {
  const RowPlace place = plan.place(row);
  if (place.IsPadding()) return {};
  if (plan.place.spaced()) {
    return {At(spans, place), plan.place.stride() == plan.row_bytes ? end - row : 1};
  }
  std::int64_t rows = 1;
  for (; row + rows < end; ++rows) {
    const RowPlace next = plan.place(row + rows);
    if (next.source != place.source || next.offset != place.offset + rows * plan.row_bytes) break;
  }
  return {At(spans, place), rows};
}

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_PLAN_CODE_ROWS_H_
