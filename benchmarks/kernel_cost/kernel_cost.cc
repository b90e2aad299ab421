#include "benchmarks/kernel_cost/kernel_cost.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "emulator/hip_api/control.h"

namespace lanewise::benchmarks {
namespace {

using emulator::InstructionClass;
using emulator::LaunchCounters;

constexpr int64_t kCyclesToIssue = 4;  // 64 lanes on 16

bool BeginsWith(std::string_view name, std::string_view text) {
  return name.substr(0, text.size()) == text;
}
// What belongs to the launch: arguments, the dispatch packet and the queue, tables in the code.
bool IsLaunchsOwn(std::string_view name) {
  return name == "the kernel's arguments" || name == "the dispatch packet" || name == "the queue" ||
         name == "the code object";
}

int64_t Count(const LaunchCounters& counters, std::initializer_list<InstructionClass> classes) {
  uint64_t sum = 0;
  for (const InstructionClass each : classes) sum += counters.Count(each);
  return static_cast<int64_t>(sum);
}

void AddLaunch(const LaunchCounters& counters, CostRow& row) {
  ++row.launches;
  const int64_t vector =
      Count(counters, {InstructionClass::kVector, InstructionClass::kVectorTranscendental,
                       InstructionClass::kCrossLane});
  row.vector_instructions += vector;
  row.matrix_cycles += static_cast<int64_t>(counters.matrix_cycles);
  row.issue_cycles +=
      kCyclesToIssue *
      (vector + Count(counters, {InstructionClass::kLds, InstructionClass::kGlobalLoad,
                                 InstructionClass::kGlobalStore, InstructionClass::kAtomic,
                                 InstructionClass::kScratch}));
  row.lds_conflicts += static_cast<int64_t>(counters.lds_bank_conflicts);
  row.scratch_bytes = std::max(row.scratch_bytes, counters.private_bytes);
}

void AddAllocation(const emulator::AllocationTraffic& traffic, CostRow& row) {
  if (IsLaunchsOwn(traffic.name)) return;
  row.loaded_bytes += static_cast<int64_t>(traffic.fetched_bytes);
  row.loaded_lines += static_cast<int64_t>(traffic.loads.lines);
  row.loaded_lines_touched += static_cast<int64_t>(traffic.distinct_lines);
  row.stored_bytes += static_cast<int64_t>(traffic.stores.bytes + traffic.atomics.bytes);
  const bool weights = BeginsWith(traffic.name, "weights");
  if (weights || BeginsWith(traffic.name, "weight codes")) {
    row.weight_bytes += static_cast<int64_t>(traffic.fetched_bytes);
  }
  if (!weights) return;
  row.element_bytes += static_cast<int64_t>(traffic.fetched_bytes);
  row.weight_lines += static_cast<int64_t>(traffic.loads.lines);
  row.weight_lines_touched += static_cast<int64_t>(traffic.distinct_lines);
}

absl::Status Contradiction(const CostCase& cost_case, std::string_view what, int64_t found,
                           int64_t expected) {
  return FailedPrecondition(cost_case.kernel, ", ", cost_case.shape, ": ", std::string(what), " ",
                            found, ", expected ", expected);
}

std::string Bytes(int64_t bytes) { return absl::StrFormat("%d", bytes); }

}  // namespace

double CostRow::LinesPerKib() const {
  const double bytes = static_cast<double>(HasWeights() ? element_bytes : loaded_bytes);
  const double lines = static_cast<double>(HasWeights() ? weight_lines : loaded_lines);
  return bytes == 0 ? 0 : lines * 1024 / bytes;
}

double CostRow::VectorInstructionsPerByte() const {
  const int64_t bytes = HasWeights() ? weight_bytes : loaded_bytes + stored_bytes;
  return bytes == 0 ? 0 : static_cast<double>(vector_instructions) / static_cast<double>(bytes);
}

double CostRow::MatrixShare() const {
  const int64_t all = matrix_cycles + issue_cycles;
  return all == 0 ? 0 : static_cast<double>(matrix_cycles) / static_cast<double>(all);
}

double CostRow::RooflineMicroseconds(double bandwidth) const {
  return static_cast<double>(cost.TotalBytes()) / bandwidth * 1e6;
}

absl::StatusOr<CostRow> Measure(const CostCase& cost_case) {
  const auto named = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(cost_case.kernel, ", ", cost_case.shape, ": ",
                                                    std::string(status.message())));
  };
  absl::StatusOr<hip::Device> device = hip::Device::OfArch(cost_case.arch);
  if (!device.ok()) return named(device.status());
  if (absl::Status status = device->MakeCurrent(); !status.ok()) return named(status);
  emulator::StartRecording();
  const absl::Status status = cost_case.run(*device);
  const emulator::Recording recording = emulator::StopRecording();
  if (!status.ok()) return named(status);

  CostRow row;
  row.kernel = cost_case.kernel;
  row.shape = cost_case.shape;
  row.cost = cost_case.cost;
  uint64_t most = 0;
  for (const emulator::LaunchRecord& launch : recording.launches) {
    const LaunchCounters& counters = launch.counters;
    AddLaunch(counters, row);
    if (counters.TotalInstructions() < most) continue;
    most = counters.TotalInstructions();
    row.vgprs = counters.vgprs;
    row.lds_bytes = counters.lds_bytes;
    row.waves_per_cu = 4 * counters.waves_per_simd;
  }
  for (const emulator::AllocationTraffic& traffic : recording.allocations) {
    AddAllocation(traffic, row);
  }
  return row;
}

absl::Status CheckFacts(const CostCase& cost_case, const CostRow& row) {
  const hip::LaunchCost& cost = cost_case.cost;
  const auto check = [&](std::string_view what, int64_t found, int64_t expected) {
    return found == expected ? absl::OkStatus() : Contradiction(cost_case, what, found, expected);
  };
  absl::Status status = check("launches", row.launches, cost.launches);
  if (row.HasWeights()) {
    status.Update(check("weight bytes fetched", row.weight_bytes,
                        cost_case.fetched_weight_bytes.value_or(cost.weight_bytes)));
    if (cost_case.lines_once) {
      status.Update(
          check("lines of weights asked for", row.weight_lines, row.weight_lines_touched));
    }
  } else {
    status.Update(check("bytes loaded", row.loaded_bytes, cost.activation_bytes));
    status.Update(check("bytes stored", row.stored_bytes, cost.output_bytes));
    if (cost_case.lines_once) {
      status.Update(check("lines asked for", row.loaded_lines, row.loaded_lines_touched));
    }
  }
  status.Update(check("LDS conflict cycles", row.lds_conflicts, 0));
  status.Update(check("scratch bytes a lane", row.scratch_bytes, 0));
  return status;
}

std::string MarkdownTable(std::span<const CostRow> rows) {
  std::string text =
      "| kernel | shape | weight bytes needed | fetched | lines a KiB | bytes moved | vector "
      "instructions a byte | matrix share | LDS conflicts | scratch | VGPRs | LDS | waves a CU | "
      "MI300X us | MI325X us |\n"
      "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const CostRow& row : rows) {
    const std::string needed = row.HasWeights() ? Bytes(row.cost.weight_bytes) : "";
    const std::string fetched = row.HasWeights() ? Bytes(row.weight_bytes) : "";
    const std::string share =
        row.matrix_cycles > 0 ? absl::StrFormat("%.0f %%", 100 * row.MatrixShare()) : "";
    absl::StrAppendFormat(&text, "| %s | %s | %s | %s | %.1f | %d | %.3f | %s | %d | %d | %d | %d ",
                          row.kernel, row.shape, needed, fetched, row.LinesPerKib(),
                          row.loaded_bytes + row.stored_bytes, row.VectorInstructionsPerByte(),
                          share, row.lds_conflicts, row.scratch_bytes, row.vgprs, row.lds_bytes);
    absl::StrAppendFormat(&text, "| %d | %.2f | %.2f |\n", row.waves_per_cu,
                          row.RooflineMicroseconds(kMi300xBandwidth),
                          row.RooflineMicroseconds(kMi325xBandwidth));
  }
  return text;
}

}  // namespace lanewise::benchmarks
