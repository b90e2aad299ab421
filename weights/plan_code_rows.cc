#include "weights/plan_code_rows.h"

namespace lanewise {
namespace {

bool IsRowMajor(const BoundLayout& layout) {
  if (layout.regions() != 1) return false;
  const Region& region = layout.region(0);
  for (int i = 0; i < region.digits; ++i) {
    if (region.digit[i].memory_stride != region.digit[i].logical_stride) return false;
  }
  return true;
}

}  // namespace

bool MovesCodeRows(const TensorPlan& plan) {
  return plan.conversion == Conversion::kScaleCode && plan.agreeing_rows == 1 &&
         plan.code_repeat == 1 && plan.source_row_bytes == plan.row_bytes && plan.bytes() > 0 &&
         IsRowMajor(plan.packer.layout()) &&
         plan.packer.lead_bytes() % plan.packer.layout().extent(1) == 0;
}

CodeRows CodeRowsOf(const TensorPlan& plan, std::int64_t rows, int threads) {
  return {rows, plan.row_bytes, plan.packer.layout().extent(1), plan.padding, threads};
}

}  // namespace lanewise
