// The `lanewise` command.

#include <cstdio>
#include <map>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "base/text.h"
#include "tools/command.h"

namespace {

constexpr char kVersion[] = "lanewise 0.1.0";

constexpr char kFooter[] =
    "Exit status: 0 done, 1 refused or failed (the reason on stderr), 2 wrong usage,\n"
    "128 and the signal's number where SIGINT or SIGTERM ended it.\n"
    "Each command explains itself: lanewise prepare --help";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Low-precision weights for AMD's gfx942 and gfx950: prepare a checkpoint for its kernels, "
      "take it back, and look at what every byte means."};
  app.footer(kFooter);
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);

  std::map<CLI::App*, lanewise::tools::Action> actions;
  const auto add = [&](const char* name, const char* about, auto add_options) {
    CLI::App* command = app.add_subcommand(name, about);
    actions[command] = add_options(*command);
  };
  add("prepare", "Write a checkpoint's weights in the order that a target's kernels read",
      lanewise::tools::AddPrepare);
  add("restore", "Give back the checkpoint that a prepared one was made from",
      lanewise::tools::AddRestore);
  add("verify", "Check a prepared checkpoint, alone or against its source and the reference",
      lanewise::tools::AddVerify);
  add("inspect", "Show the tensors of a file: dtypes, shapes, layouts, NaN, -0, scale codes",
      lanewise::tools::AddInspect);
  add("layouts", "List the layouts, or show where a coordinate or a byte goes in one",
      lanewise::tools::AddLayouts);
  add("quantize", "Make an MXFP8 or MXFP4 checkpoint of a float one, and report the error",
      lanewise::tools::AddQuantize);
  add("dequantize", "Make a bf16 or float32 checkpoint of an MXFP8 or MXFP4 one",
      lanewise::tools::AddDequantize);
  add("synthesize", "Write a checkpoint of random weights with a model's real names and shapes",
      lanewise::tools::AddSynthesize);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version come this way too, with status 0.
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const auto& [command, action] : actions) {
    if (!command->parsed()) continue;
    const absl::Status status = action();
    const bool told = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (status.ok() && told) return 0;
    if (status.ok()) {
      std::fprintf(stderr, "lanewise %s: done, but its report could not be written to stdout\n",
                   command->get_name().c_str());
      return 1;
    }
    std::fprintf(stderr, "lanewise %s: %s\n", command->get_name().c_str(),
                 lanewise::tools::Printable(lanewise::StdView(status.message())).c_str());
    const int signal = lanewise::tools::InterruptingSignal();
    return absl::IsCancelled(status) && signal != 0 ? 128 + signal : 1;
  }
  return 2;
}
