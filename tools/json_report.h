#ifndef LANEWISE_TOOLS_JSON_REPORT_H_
#define LANEWISE_TOOLS_JSON_REPORT_H_

// --json: what a command did, as one JSON object on stdout, for other programs.

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "checkpoint/stream/output_fates.h"
#include "nlohmann/json.hpp"

namespace lanewise::tools {

// {"command": ..., "ok": true or false, "error": where not ok, "seconds": ..., and what the command
// adds}. Make it where the command begins.
class JsonReport {
 public:
  JsonReport(std::string_view command, bool wanted);

  bool wanted() const { return wanted_; }
  nlohmann::ordered_json& operator[](const char* field) { return fields_[field]; }

  // Prints the object if it is wanted. Returns `status`, whose message goes to stderr all the same.
  absl::Status End(const absl::Status& status);

 private:
  const bool wanted_;
  const std::chrono::steady_clock::time_point begin_;
  nlohmann::ordered_json fields_;
};

// Each file with its path, fate and bytes.
nlohmann::ordered_json FilesJson(std::span<const FileReport> files);

void AddJson(CLI::App& app, bool* json);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_JSON_REPORT_H_
