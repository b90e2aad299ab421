#include "weights/lead_rows.h"

#include <algorithm>

namespace lanewise {

LeadRows LeadRowsOf(const Packer& packer) {
  const std::int64_t leads = packer.leads();
  if (leads == 0 || packer.layout().units() == 0) return {true, 0};
  const BoundLayout& layout = packer.layout();
  LeadRows lead = {layout.extent(0) % leads == 0, layout.extent(0) / leads};
  // Leads are alike but for where they begin, so the second tells of all.
  for (const std::int64_t i : {std::int64_t{0}, std::min<std::int64_t>(1, leads - 1)}) {
    if (lead.rows * layout.extent(1) != packer.lead_bytes()) lead.contiguous = false;
    for (const std::int64_t row : {i * lead.rows, (i + 1) * lead.rows - 1}) {
      const std::int64_t coordinate[] = {row, 0};
      if (!lead.contiguous || layout.Offset(coordinate) / packer.lead_bytes() != i) {
        lead.contiguous = false;
      }
    }
  }
  return lead;
}

}  // namespace lanewise
