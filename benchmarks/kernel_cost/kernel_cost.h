#ifndef LANEWISE_BENCHMARKS_KERNEL_COST_KERNEL_COST_H_
#define LANEWISE_BENCHMARKS_KERNEL_COST_KERNEL_COST_H_

// What kernels cost, by the emulator's counters: the same figures on every machine, for anybody. A
// kernel's entry (cases.h) says what to launch and what it must read; one function runs it and
// makes a row of what was counted.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"

namespace lanewise::benchmarks {

// One row's work.
struct CostCase {
  std::string kernel;  // "gfx942/dense_gemv"
  std::string shape;   // "M 4, 1792 x 5120"
  // The counts are proportional to the shape, so tests run the small ones and documentation
  // states the real ones.
  bool small = false;
  // What the launcher says that it costs.
  hip::LaunchCost cost;
  // What it fetches of weights and codes, where that is more than the cost's weight_bytes: codes
  // that several waves need are loaded by each.
  std::optional<int64_t> fetched_weight_bytes;
  // Each 128-byte line of the weights, codes apart (without weights: of everything that is read),
  // is asked for once in all, so a load of 1 KiB takes 8. False for what is there
  // to show the opposite.
  bool lines_once = true;
  // Allocates, launches, waits, and says whether the result is right if that is quick to know.
  // Names of buffers that hold weights begin with "weights", those of their codes
  // with "weight codes".
  std::function<absl::Status(const hip::Device&)> run;
  std::string arch = "gfx942";
};

struct CostRow {
  std::string kernel, shape;
  hip::LaunchCost cost;
  int64_t launches = 0;  // counted, not promised
  // Lanes of one instruction that load the same byte count once.
  int64_t weight_bytes = 0;          // fetched of weights and codes
  int64_t element_bytes = 0;         // of them, without codes
  int64_t weight_lines = 0;          // 128-byte lines without codes, summed over load instructions
  int64_t weight_lines_touched = 0;  // different ones
  int64_t loaded_bytes = 0;          // of every buffer, kernel arguments apart
  int64_t loaded_lines = 0;
  int64_t loaded_lines_touched = 0;
  int64_t stored_bytes = 0;
  int64_t vector_instructions = 0;  // of waves; with transcendental and cross-lane ones
  int64_t matrix_cycles = 0;
  int64_t issue_cycles = 0;  // 4 for each vector, cross-lane, LDS and vector memory instruction
  int64_t lds_conflicts = 0;
  int64_t scratch_bytes = 0;  // a lane's, the largest of the launches
  // Of the launch that executes most instructions.
  int64_t vgprs = 0, lds_bytes = 0, waves_per_cu = 0;

  bool HasWeights() const { return cost.weight_bytes > 0; }
  // 128-byte lines for each KiB that is fetched (of weights without codes, where there are any).
  double LinesPerKib() const;
  // Vector instructions for each byte of weights, or without weights for each byte moved.
  double VectorInstructionsPerByte() const;
  // Share of the matrix core's cycles in the cycles of matrix core and issue together.
  double MatrixShare() const;
  // The time that `cost` takes at a memory bandwidth in bytes a second, in microseconds.
  double RooflineMicroseconds(double bandwidth) const;
};

// HBM bandwidths, from the vendor's data sheets, in bytes a second.
inline constexpr double kMi300xBandwidth = 5.3e12;
inline constexpr double kMi325xBandwidth = 6.0e12;

// Runs a case on the emulator's device of its chip. An error of the case is returned with its name.
absl::StatusOr<CostRow> Measure(const CostCase& cost_case);

// The fact that a row contradicts, or OK: the weight bytes fetched are those that the launcher
// promises (no weights: the bytes read are, and the bytes stored); each line once where the case
// says so; no LDS conflicts; no scratch; launches as promised.
absl::Status CheckFacts(const CostCase& cost_case, const CostRow& row);

// The rows as a Markdown table.
std::string MarkdownTable(std::span<const CostRow> rows);

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_KERNEL_COST_KERNEL_COST_H_
