// The `lanewise` command.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/json_report.h"
#include "tools/nearest_name.h"

namespace lanewise::tools {
namespace {

constexpr char kVersion[] = "lanewise 0.1.0";

constexpr char kFooter[] =
    "Exit status: 0 done, 1 refused or failed (the reason on stderr), 2 wrong usage,\n"
    "128 and the signal's number where SIGINT or SIGTERM ended it.\n"
    "Each command explains itself: lanewise prepare --help";

std::map<CLI::App*, Action> AddCommands(CLI::App& app) {
  std::map<CLI::App*, Action> actions;
  const auto add = [&](const char* name, const char* about, auto add_options) {
    CLI::App* command = app.add_subcommand(name, about);
    actions[command] = add_options(*command);
  };
  add("prepare", "Write a checkpoint's weights in the order that a target's kernels read",
      AddPrepare);
  add("restore", "Give back the checkpoint that a prepared one was made from", AddRestore);
  add("verify", "Check a prepared checkpoint, alone or against its source and the reference",
      AddVerify);
  add("inspect", "Show the tensors of a file: dtypes, shapes, layouts, NaN, -0, scale codes",
      AddInspect);
  add("layouts", "List the layouts, or show where a coordinate or a byte goes in one", AddLayouts);
  add("quantize", "Make an MXFP8 or MXFP4 checkpoint of a float one, and report the error",
      AddQuantize);
  add("dequantize", "Make a bf16 or float32 checkpoint of an MXFP8 or MXFP4 one", AddDequantize);
  add("synthesize", "Write a checkpoint of random weights with a model's real names and shapes",
      AddSynthesize);
  return actions;
}

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The command of this name, or null.
const CLI::App* CommandNamed(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : Commands(app)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// Whether the options, which could not be parsed, ask for JSON.
bool AsksForJson(int argc, char** argv) {
  for (int i = 2; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

// Where what stands in place of a command is none.
std::string NoSuchCommand(const std::string& found, const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : Commands(app)) names.push_back(command->get_name());
  const std::string nearest = NearestName(found, names);
  return absl::StrCat("there is no command '", found, "'",
                      nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"),
                      "\n  there are: ", absl::StrJoin(names, ", "));
}

// "lanewise prepare"; of no command "lanewise".
std::string ProgramText(std::string_view command) {
  return absl::StrCat("lanewise", command.empty() ? "" : " ", AbslView(command));
}

// Says what is wrong with the usage: exit status 2. `command` is null where none was named.
int WrongUsage(const CLI::App* command, std::string_view message, bool json) {
  const std::string name = command == nullptr ? "" : command->get_name();
  const std::string program = ProgramText(name);
  PrintError(program,
             absl::StrCat(AbslView(message), "\n  ", program, " --help says what it takes"));
  JsonReport report(name, json);
  static_cast<void>(report.End(absl::InvalidArgumentError(AbslView(message))));
  return 2;
}

// The exit status of what ended with this Status.
int End(std::string_view command, const absl::Status& status) {
  errno = 0;
  const bool told = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!status.ok()) {
    PrintError(ProgramText(command), StdView(status.message()));
    const int signal = InterruptingSignal();
    return absl::IsCancelled(status) && signal != 0 ? 128 + signal : 1;
  }
  if (told) return 0;
  PrintError(ProgramText(command),
             absl::StrCat("done, but its report could not be written to stdout",
                          errno == 0 ? "" : absl::StrCat(": ", std::strerror(errno))));
  return 1;
}

int Main(int argc, char** argv) {
  // A limit of file sizes is an error of the write, which names the file, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app{
      "Low-precision weights for AMD's gfx942 and gfx950: prepare a checkpoint for its kernels, "
      "take it back, and look at what every byte means.",
      "lanewise"};
  app.footer(kFooter);
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(0, 1);
  const std::map<CLI::App*, Action> actions = AddCommands(app);
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return 2;
  }
  const std::string first = argv[1];
  const CLI::App* const named = CommandNamed(app, first);
  if (named == nullptr && first[0] != '-') {
    return WrongUsage(nullptr, NoSuchCommand(first, app), /*json=*/false);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& said) {
    // --help and --version.
    app.exit(said);
    return End("", absl::OkStatus());
  } catch (const CLI::ParseError& error) {
    const bool json = named != nullptr && named->get_option_no_throw("--json") != nullptr &&
                      AsksForJson(argc, argv);
    return WrongUsage(named, error.what(), json);
  }
  for (const auto& [command, action] : actions) {
    if (command->parsed()) return End(command->get_name(), action());
  }
  return WrongUsage(nullptr, "no command is named", /*json=*/false);
}

}  // namespace
}  // namespace lanewise::tools

int main(int argc, char** argv) { return lanewise::tools::Main(argc, argv); }
