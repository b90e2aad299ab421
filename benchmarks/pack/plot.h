#ifndef LANEWISE_BENCHMARKS_PACK_PLOT_H_
#define LANEWISE_BENCHMARKS_PACK_PLOT_H_

// The packing report as a picture, and as the rows of a Markdown table.

#include <string>

#include "benchmarks/pack/report.h"

namespace lanewise::benchmarks {

// A line for each case (layout, direction, rewrite), a dot for each of its sizes at its ratio, over
// marks at 0.7, 0.9, 0.95 and 1; a panel for each number of threads. SVG that stands alone.
std::string Svg(const Report& report);

// A row for each case: its target, and for each number of threads the ratios at the report's sizes.
std::string Markdown(const Report& report);

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_PACK_PLOT_H_
