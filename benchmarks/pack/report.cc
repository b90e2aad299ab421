#include "benchmarks/pack/report.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace lanewise::benchmarks {

std::string Size(std::int64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  if (mib >= 1000) return absl::StrFormat("%.3g GiB", mib / 1024);
  return absl::StrFormat("%.3g MiB", mib);
}

std::string TableHeading() {
  return absl::StrFormat("%-28s %-7s %-12s %9s %7s %7s %7s %7s %6s %6s\n", "layout", "", "rewrite",
                         "size", "threads", "GB/s", "memcpy", "stream", "ratio", "median");
}

std::string TableLine(const Row& row) {
  return absl::StrFormat("%-28s %-7s %-12s %9s %7d %7.2f %7.2f %7.2f %6.2f %6.2f%s\n", row.layout,
                         row.direction, row.rewrite, Size(row.bytes), row.threads,
                         row.gb_per_second, row.memcpy_gb_per_second, row.streaming_gb_per_second,
                         row.ratio, row.median_ratio,
                         row.BelowTarget() ? absl::StrFormat("  below %.2f", row.target) : "");
}

std::string ToJson(const Report& report) {
  nlohmann::ordered_json json;
  json["processor"] = {{"model", report.processor.model},
                       {"cores", report.processor.cores},
                       {"caches", report.processor.caches},
                       {"instruction_set", report.processor.instruction_set}};
  json["pages"] = report.pages;
  json["clock"] = report.clock;
  json["repetitions"] = report.repetitions;
  json["rows"] = nlohmann::ordered_json::array();
  // Four digits say all that a time says.
  const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
  for (const Row& row : report.rows) {
    json["rows"].push_back({{"layout", row.layout},
                            {"direction", row.direction},
                            {"rewrite", row.rewrite},
                            {"bytes", row.bytes},
                            {"threads", row.threads},
                            {"gb_per_second", rounded(row.gb_per_second)},
                            {"memcpy_gb_per_second", rounded(row.memcpy_gb_per_second)},
                            {"streaming_gb_per_second", rounded(row.streaming_gb_per_second)},
                            {"ratio", rounded(row.ratio)},
                            {"median_ratio", rounded(row.median_ratio)},
                            {"target", row.target}});
  }
  return json.dump(1) + "\n";
}

absl::StatusOr<Report> FromJson(std::string_view text) {
  const nlohmann::json json =
      nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument("this is no JSON");
  // The library reports a missing or wrong value by throwing; it stays in here.
  try {
    Report report;
    const nlohmann::json& processor = json.at("processor");
    report.processor = {processor.at("model"), processor.at("cores"), processor.at("caches"),
                        processor.at("instruction_set")};
    if (report.processor.model.empty() || report.processor.caches.empty() ||
        report.processor.instruction_set.empty()) {
      return absl::InvalidArgumentError(
          "not a packing report: it does not name its processor's model, caches and instruction "
          "set");
    }
    report.pages = json.at("pages");
    report.clock = json.at("clock");
    report.repetitions = json.at("repetitions");
    for (const nlohmann::json& entry : json.at("rows")) {
      Row row;
      row.layout = entry.at("layout");
      row.direction = entry.at("direction");
      row.rewrite = entry.at("rewrite");
      row.bytes = entry.at("bytes");
      row.threads = entry.at("threads");
      row.gb_per_second = entry.at("gb_per_second");
      row.memcpy_gb_per_second = entry.at("memcpy_gb_per_second");
      row.streaming_gb_per_second = entry.at("streaming_gb_per_second");
      row.ratio = entry.at("ratio");
      row.median_ratio = entry.at("median_ratio");
      row.target = entry.at("target");
      report.rows.push_back(std::move(row));
    }
    return report;
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("not a packing report: ", error.what());
  }
}

}  // namespace lanewise::benchmarks
