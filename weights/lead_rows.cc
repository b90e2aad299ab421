#include "weights/lead_rows.h"

namespace lanewise {
namespace {

// Whether each lead is `rows` whole rows in their order, told by the digits of the layout.
bool AreWholeRows(const BoundLayout& layout, std::int64_t rows, std::int64_t lead_bytes) {
  for (int i = 0; i < layout.regions(); ++i) {
    const Region& region = layout.region(i);
    for (int j = 0; j < region.digits; ++j) {
      const Digit& digit = region.digit[j];
      if (digit.size == 1) continue;
      const bool within = digit.axis != 0 || digit.coordinate_stride * digit.size <= rows;
      // Outside, a lead further along the rows is a lead further in memory.
      if (within ? digit.memory_stride * digit.size > lead_bytes
                 : rows % digit.coordinate_stride != 0 ||
                       digit.memory_stride * rows != digit.coordinate_stride * lead_bytes) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

LeadRows LeadRowsOf(const Packer& packer) {
  const std::int64_t leads = packer.leads();
  if (leads == 0 || packer.layout().units() == 0) return {true, 0};
  const BoundLayout& layout = packer.layout();
  const std::int64_t rows = layout.extent(0) / leads;
  return {layout.extent(0) % leads == 0 && AreWholeRows(layout, rows, packer.lead_bytes()), rows};
}

}  // namespace lanewise
