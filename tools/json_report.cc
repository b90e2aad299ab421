#include "tools/json_report.h"

#include <cstdio>
#include <utility>

namespace lanewise::tools {

JsonReport::JsonReport(std::string_view command, bool wanted)
    : wanted_(wanted), begin_(std::chrono::steady_clock::now()) {
  fields_["command"] = std::string(command);
  fields_["ok"] = true;
}

absl::Status JsonReport::End(const absl::Status& status) {
  if (!wanted_) return status;
  if (!status.ok()) {
    fields_["ok"] = false;
    fields_["error"] = std::string(status.message());
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  fields_["seconds"] = seconds.count();
  // Names come from files, and files may hold anything: what is not UTF-8 becomes U+FFFD, and what
  // is not ASCII JSON's own \u, so that nothing acts on a terminal.
  const std::string text =
      fields_.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
  return status;
}

nlohmann::ordered_json FilesJson(std::span<const FileReport> files) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FileReport& file : files) {
    list.push_back(
        {{"path", file.path}, {"fate", std::string(FateName(file.fate))}, {"bytes", file.bytes}});
  }
  return list;
}

void AddJson(CLI::App& app, bool* json) {
  app.add_flag("--json", *json, "Print one JSON object in place of the text, also where it fails");
}

}  // namespace lanewise::tools
