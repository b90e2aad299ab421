#include "benchmarks/end_to_end/report.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace lanewise::benchmarks {
namespace {

const Operation* Find(const Measured& measured, std::string_view name) {
  for (const Operation& operation : measured.operations) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

double MedianOf(const Operation& operation, double ProcessCost::* member) {
  std::vector<double> values;
  for (const ProcessCost& run : operation.runs) values.push_back(run.*member);
  return Median(std::move(values));
}

std::int64_t PeakBytes(const Operation& operation) {
  std::int64_t peak = 0;
  for (const ProcessCost& run : operation.runs) peak = std::max(peak, run.peak_bytes);
  return peak;
}

double Rate(const Measured& measured, const Operation& operation) {
  const double seconds = MedianOf(operation, &ProcessCost::seconds);
  return seconds > 0 ? static_cast<double>(measured.bytes) / seconds / 1e9 : 0;
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double RatioTo(const Operation& operation, const Operation& baseline) {
  std::vector<double> ratios;
  const std::size_t runs = std::min(operation.runs.size(), baseline.runs.size());
  for (std::size_t i = 0; i < runs; ++i) {
    if (operation.runs[i].seconds > 0) {
      ratios.push_back(baseline.runs[i].seconds / operation.runs[i].seconds);
    }
  }
  return Median(std::move(ratios));
}

std::string Table(const Measured& measured) {
  const std::size_t runs = measured.operations.empty() ? 0 : measured.operations[0].runs.size();
  std::string text = absl::StrFormat(
      "%s\n%s: %.2f GB, %s, median of %d\n%-22s %9s %7s", measured.processor, measured.checkpoint,
      static_cast<double>(measured.bytes) / 1e9, measured.cold ? "cold" : "warm cache",
      static_cast<int>(runs), "", "seconds", "GB/s");
  for (const std::string& baseline : measured.baselines) {
    absl::StrAppendFormat(&text, " %12s", absl::StrCat("of ", baseline));
  }
  absl::StrAppendFormat(&text, " %8s %8s %10s\n", "user s", "system s", "peak MiB");
  for (const Operation& operation : measured.operations) {
    absl::StrAppendFormat(&text, "%-22s %9.3f %7.2f", operation.name,
                          MedianOf(operation, &ProcessCost::seconds), Rate(measured, operation));
    for (const std::string& name : measured.baselines) {
      const Operation* const baseline = Find(measured, name);
      absl::StrAppendFormat(&text, " %12.2f",
                            baseline == nullptr ? 0 : RatioTo(operation, *baseline));
    }
    absl::StrAppendFormat(&text, " %8.2f %8.2f %10.1f\n",
                          MedianOf(operation, &ProcessCost::user_seconds),
                          MedianOf(operation, &ProcessCost::system_seconds),
                          static_cast<double>(PeakBytes(operation)) / (1 << 20));
  }
  return text;
}

std::string Json(const Measured& measured) {
  nlohmann::ordered_json json;
  json["processor"] = measured.processor;
  json["checkpoint"] = measured.checkpoint;
  json["bytes"] = measured.bytes;
  json["cold"] = measured.cold;
  json["operations"] = nlohmann::ordered_json::array();
  for (const Operation& operation : measured.operations) {
    nlohmann::ordered_json entry;
    entry["name"] = operation.name;
    entry["median_seconds"] = MedianOf(operation, &ProcessCost::seconds);
    entry["gb_per_second"] = Rate(measured, operation);
    for (const std::string& name : measured.baselines) {
      const Operation* const baseline = Find(measured, name);
      if (baseline != nullptr) entry["ratios"][name] = RatioTo(operation, *baseline);
    }
    entry["peak_bytes"] = PeakBytes(operation);
    for (const ProcessCost& run : operation.runs) {
      entry["runs"].push_back({{"seconds", run.seconds},
                               {"user_seconds", run.user_seconds},
                               {"system_seconds", run.system_seconds},
                               {"peak_bytes", run.peak_bytes}});
    }
    json["operations"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

}  // namespace lanewise::benchmarks
