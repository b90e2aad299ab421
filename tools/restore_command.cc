#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/option_values.h"
#include "checkpoint/restore/restore.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/json_report.h"
#include "tools/options.h"

namespace lanewise::tools {
namespace {

struct Options {
  std::string in, out;
  OutputRules rules;
  bool json = false;
  int threads = 0;
  std::int64_t memory = kDefaultMemory;
};

absl::Status Restore(const Options& options, JsonReport* json) {
  const RestoreRequest request = {UserPath(options.in), UserPath(options.out), options.rules,
                                  options.threads,      options.memory,        Interrupted()};
  const absl::StatusOr<RestoreReport> report = RestoreCheckpoint(request, ProgressBar("restore"));
  if (!report.ok()) return report.status();
  if (json->wanted()) {
    (*json)["out"] = request.out;
    (*json)["tensors"] = report->tensors;
    (*json)["bytes"] = report->bytes;
    (*json)["exact"] = report->exact;
    (*json)["lost_zero_signs"] = report->lost_zero_signs;
    (*json)["differing"] = report->differing;
    (*json)["files"] = FilesJson(report->files);
    return absl::OkStatus();
  }
  std::string line = absl::StrCat(request.out, ": ", CountText(report->tensors, "tensor"), ", ",
                                  SizeText(report->bytes), FatesText(report->files));
  if (report->exact) {
    PrintLine(line + "; every file equals its source, byte for byte");
    return absl::OkStatus();
  }
  absl::StrAppend(&line, "; not the source byte for byte");
  if (report->lost_zero_signs > 0) {
    absl::StrAppend(&line, ": ", CountText(report->lost_zero_signs, "zero"),
                    " whose sign was not stored came back as +0 (prepare --lossless stores it)");
  }
  PrintLine(line);
  for (const std::string& file : report->differing) PrintLine("  differs: " + file);
  return absl::OkStatus();
}

}  // namespace

Action AddRestore(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option(
         "PREPARED", options->in,
         "What prepare wrote: a file, an index, a directory, or a directory of rank-0, rank-1, ...")
      ->required()
      ->check(NotEmpty());
  app.add_option("OUT", options->out, "A file or a directory, as the source was")
      ->required()
      ->check(NotEmpty());
  AddRules(app, &options->rules);
  AddMemory(app, &options->memory);
  AddThreads(app, &options->threads);
  AddJson(app, &options->json);
  return [options] {
    JsonReport json("restore", options->json);
    return json.End(Restore(*options, &json));
  };
}

}  // namespace lanewise::tools
