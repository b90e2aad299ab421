#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/command.h"
#include "tools/json_report.h"
#include "tools/verify/verify.h"

namespace lanewise::tools {
namespace {

struct Options {
  std::string prepared, against;
  int threads = 0;
  std::int64_t memory = kDefaultMemory;
  bool json = false;
};

void Print(const VerifyReport& report) {
  std::printf("%-28s %10s %14s\n", "layout", "tensors", "size");
  for (const auto& [layout, row] : report.by_layout) {
    std::printf("%-28s %10lld %14s\n", layout.c_str(), static_cast<long long>(row.tensors),
                SizeText(row.bytes).c_str());
  }
}

void Fill(const VerifyReport& report, const VerifyRequest& request, JsonReport* json) {
  (*json)["prepared"] = request.prepared;
  if (request.against) {
    (*json)["against"] = *request.against;
    (*json)["source_tensors"] = report.source_tensors;
  }
  (*json)["ranks"] = report.ranks;
  nlohmann::ordered_json layouts = nlohmann::ordered_json::object();
  for (const auto& [layout, row] : report.by_layout) {
    layouts[layout] = {{"tensors", row.tensors}, {"bytes", row.bytes}};
  }
  (*json)["layouts"] = std::move(layouts);
  (*json)["problems"] = report.problems;
}

absl::Status Verify(const Options& options, JsonReport* json) {
  VerifyRequest request;
  request.prepared = UserPath(options.prepared);
  if (!options.against.empty()) request.against = UserPath(options.against);
  request.limits = {options.threads, options.memory, Interrupted()};
  const absl::StatusOr<VerifyReport> report = VerifyPrepared(request, ProgressBar("verify"));
  if (!report.ok()) return report.status();
  if (json->wanted()) Fill(*report, request, json);
  if (!report->problems.empty()) {
    constexpr std::size_t kShown = 20;
    std::string message = absl::StrCat(request.prepared, ": ", report->problems.size(),
                                       report->problems.size() == 1 ? " problem" : " problems");
    for (std::size_t i = 0; i < report->problems.size() && i < kShown; ++i) {
      absl::StrAppend(&message, "\n  ", report->problems[i]);
    }
    if (report->problems.size() > kShown) {
      absl::StrAppend(&message, "\n  and ", report->problems.size() - kShown, " more");
    }
    return absl::DataLossError(message);
  }
  if (json->wanted()) return absl::OkStatus();
  Print(*report);
  if (request.against) {
    std::printf(
        "%s: every byte is what the reference makes of %s, all of its %lld tensors "
        "accounted for\n",
        request.prepared.c_str(), request.against->c_str(),
        static_cast<long long>(report->source_tensors));
  } else {
    std::printf("%s: every digest is right; --against SOURCE also checks that the bytes are its\n",
                request.prepared.c_str());
  }
  return absl::OkStatus();
}

}  // namespace

Action AddVerify(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option(
         "PREPARED", options->prepared,
         "What prepare wrote: a file, an index, a directory, or a directory of rank-0, rank-1, ...")
      ->required();
  app.add_option(
      "--against", options->against,
      "The checkpoint it was prepared from: every prepared tensor is computed again by the "
      "reference implementation and compared, and every tensor accounted for");
  AddMemory(app, &options->memory);
  AddThreads(app, &options->threads);
  AddJson(app, &options->json);
  return [options] {
    JsonReport json("verify", options->json);
    return json.End(Verify(*options, &json));
  };
}

}  // namespace lanewise::tools
