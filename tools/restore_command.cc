#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "checkpoint/restore.h"
#include "tools/command.h"
#include "tools/json_report.h"

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
  std::printf("%s: %lld tensors, %s%s", request.out.c_str(),
              static_cast<long long>(report->tensors), SizeText(report->bytes).c_str(),
              FatesText(report->files).c_str());
  if (report->exact) {
    std::printf("; every file equals its source, byte for byte\n");
    return absl::OkStatus();
  }
  std::printf("; not the source byte for byte:");
  if (report->lost_zero_signs > 0) {
    std::printf(
        " %lld zeros came back as +0 whose sign was not stored (prepare --lossless stores it)",
        static_cast<long long>(report->lost_zero_signs));
  }
  std::printf("\n");
  for (const std::string& file : report->differing) std::printf("  differs: %s\n", file.c_str());
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
