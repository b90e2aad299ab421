// Prints what the kernels cost, as the table in docs/performance.md.

#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "benchmarks/kernel_cost/cases.h"
#include "benchmarks/kernel_cost/kernel_cost.h"
#include "hip/emulator/control.h"

namespace lanewise::benchmarks {
namespace {

int Main(int argc, char** argv) {
  CLI::App app("Counts what kernels cost on the emulator and prints a Markdown table.");
  std::string filter;
  bool small = false;
  app.add_option("--filter", filter, "Only rows whose kernel or shape contains this");
  app.add_flag("--small", small, "The small shapes of the test instead of the real ones");
  CLI11_PARSE(app, argc, argv);

  // The tests check; here the counts matter.
  emulator::SetChecks(0);
  std::vector<CostRow> rows;
  bool good = true;
  for (const CostCase& each : AllCases()) {
    if (each.small != small) continue;
    if ((each.kernel + ", " + each.shape).find(filter) == std::string::npos) continue;
    const absl::StatusOr<CostRow> row = Measure(each);
    const absl::Status status = row.ok() ? CheckFacts(each, *row) : row.status();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      good = false;
    }
    if (row.ok()) rows.push_back(*row);
  }
  std::fputs(MarkdownTable(rows).c_str(), stdout);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace lanewise::benchmarks

int main(int argc, char** argv) { return lanewise::benchmarks::Main(argc, argv); }
