// Prints how long hip/common's kernels take on the card of --//hip:runtime=rocm or cuda.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "benchmarks/device_time/device_time.h"

namespace lanewise::benchmarks {
namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Times kernels on a card and prints a Markdown table.");
  std::string filter;
  int64_t rows = 65536;
  int index = 0, repeats = 50;
  app.add_option("--filter", filter, "Only kernels whose name contains this, and the copy");
  app.add_option("--rows", rows, "Rows of 5120 elements, a multiple of 128")
      ->check(CLI::PositiveNumber);
  app.add_option("--repeats", repeats, "Timed launches of each")->check(CLI::PositiveNumber);
  app.add_option("--device", index, "Which card");
  CLI11_PARSE(app, argc, argv);

  const absl::StatusOr<hip::Device> device = hip::Device::Open(index);
  if (!device.ok()) return Fail(device.status());
  if (device->name().find("(emulated)") != std::string::npos) {
    std::fprintf(stderr,
                 "an emulator's time says nothing: build with --//hip:runtime=rocm or cuda\n");
    return 1;
  }
  if (absl::Status status = device->MakeCurrent(); !status.ok()) return Fail(status);
  std::vector<TimedRow> timed;
  for (const TimedCase& each : TimedCases(rows)) {
    if (!timed.empty() && each.kernel.find(filter) == std::string::npos) continue;
    const absl::StatusOr<TimedRow> row = Time(each, *device, repeats);
    if (!row.ok()) return Fail(row.status());
    timed.push_back(*row);
  }
  std::printf("%s, %s, %d compute units; medians of %d launches\n\n%s", device->name().c_str(),
              device->arch().c_str(), device->compute_units(), repeats, TimedTable(timed).c_str());
  return 0;
}

}  // namespace
}  // namespace lanewise::benchmarks

int main(int argc, char** argv) { return lanewise::benchmarks::Main(argc, argv); }
