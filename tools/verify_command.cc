#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/option_values.h"
#include "base/printable.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/json_report.h"
#include "tools/options.h"
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
  PrintLine(absl::StrFormat("%-28s %10s %14s", "layout", "tensors", "size"));
  for (const auto& [layout, row] : report.by_layout) {
    PrintLine(absl::StrFormat("%-28s %10d %14s", layout, row.tensors, SizeText(row.bytes)));
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
    std::string message =
        absl::StrCat(request.prepared, ": ", CountText(std::ssize(report->problems), "problem"));
    for (std::size_t i = 0; i < report->problems.size() && i < kShown; ++i) {
      absl::StrAppend(&message, "\n  ", Printable(report->problems[i]));
    }
    if (report->problems.size() > kShown) {
      absl::StrAppend(&message, "\n  and ", report->problems.size() - kShown, " more");
    }
    return absl::DataLossError(message);
  }
  if (json->wanted()) return absl::OkStatus();
  Print(*report);
  if (request.against) {
    PrintLine(absl::StrCat(
        request.prepared, ": every byte is what the reference makes of ", *request.against, "; ",
        report->source_tensors == 1
            ? "its one tensor is accounted for"
            : absl::StrCat("all of its ", report->source_tensors, " tensors are accounted for")));
  } else {
    PrintLine(absl::StrCat(request.prepared,
                           ": every digest is right; --against SOURCE also checks "
                           "that the bytes are those that SOURCE gives"));
  }
  return absl::OkStatus();
}

}  // namespace

Action AddVerify(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option(
         "PREPARED", options->prepared,
         "What prepare wrote: a file, an index, a directory, or a directory of rank-0, rank-1, ...")
      ->required()
      ->check(NotEmpty());
  app.add_option(
         "--against", options->against,
         "The checkpoint it was prepared from: every prepared tensor is computed again by the "
         "reference implementation and compared, and every tensor accounted for")
      ->type_name("SOURCE")
      ->check(NotEmpty());
  AddMemory(app, &options->memory);
  AddThreads(app, &options->threads);
  AddJson(app, &options->json);
  return [options] {
    JsonReport json("verify", options->json);
    return json.End(Verify(*options, &json));
  };
}

}  // namespace lanewise::tools
