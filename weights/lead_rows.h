#ifndef LANEWISE_WEIGHTS_LEAD_ROWS_H_
#define LANEWISE_WEIGHTS_LEAD_ROWS_H_

#include <cstdint>

#include "weights/packer.h"

namespace lanewise {

// Leads of a layout (Packer::leads) and the logical rows behind them.
struct LeadRows {
  // Whether lead i is exactly the rows i * rows .. (i + 1) * rows - 1. Of other layouts a lead
  // takes rows from anywhere.
  bool contiguous = false;
  std::int64_t rows = 0;  // of one lead
};
LeadRows LeadRowsOf(const Packer& packer);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_LEAD_ROWS_H_
