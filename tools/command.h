#ifndef LANEWISE_TOOLS_COMMAND_H_
#define LANEWISE_TOOLS_COMMAND_H_

// What the subcommands of `lanewise` share. Each lives in a file of its own, NAME_command.cc, and
// is added to the command in lanewise.cc.

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/output_fates.h"

namespace lanewise::tools {

// Adds a subcommand's options to `app` and returns what it does. The function's Status decides how
// the command ends: ok, exit status 0; otherwise its message on stderr and exit status 1, or, if it
// was Cancelled, 128 and the signal's number.
using Action = std::function<absl::Status()>;
Action AddPrepare(CLI::App& app);
Action AddRestore(CLI::App& app);
Action AddVerify(CLI::App& app);
Action AddInspect(CLI::App& app);
Action AddLayouts(CLI::App& app);
Action AddQuantize(CLI::App& app);
Action AddDequantize(CLI::App& app);
Action AddSynthesize(CLI::App& app);

// A path as the user means it: relative to where the user stands, also under `bazel run`, which
// runs in a folder of its own and says in BUILD_WORKING_DIRECTORY where it was called.
std::string UserPath(const std::string& path);

// For options that are paths: an empty one, such as a variable of a script that is not set, is
// wrong usage and not the directory where the user stands.
CLI::Validator NotEmpty();

// "1073741824", "512M", "1.5GiB": bytes, K, M, G and T of 1024, with or without B or iB; where
// `decimal`, of 1000 unless they end in i or iB. InvalidArgument for anything else, and for less
// than a byte.
absl::StatusOr<std::int64_t> ParseSize(const std::string& text, bool decimal = false);

// An option that is a size; what ParseSize refuses is wrong usage.
void AddSize(CLI::App& app, const std::string& name, std::int64_t* bytes, bool decimal,
             const std::string& about);

// For options that are counts: "expected 1 or more".
CLI::Validator AtLeast(std::int64_t least);

// Names and bytes as stderr may show them: what is not UTF-8, and control characters but ends of
// lines, as \xNN.
std::string Printable(std::string_view text);

// "2/16": part 2 (from 0) of 16. InvalidArgument unless 0 <= part < parts.
absl::StatusOr<std::pair<int, int>> ParseShard(const std::string& text);

// Adds --overwrite, --resume and --shard.
void AddRules(CLI::App& app, OutputRules* rules);

// Adds --memory, which refuses what ParseSize does.
void AddMemory(CLI::App& app, std::int64_t* memory);

// Adds --threads.
void AddThreads(CLI::App& app, int* threads);

// Becomes true at SIGINT and SIGTERM, from the first call on; a second signal ends the process.
const std::atomic<bool>* Interrupted();
int InterruptingSignal();  // 0: none yet

// A progress bar on stderr if that is a terminal, else nothing: "prepare  42 %  1.3 GiB/s  0:12
// left". Call with bytes done and bytes in all.
std::function<void(std::int64_t, std::int64_t)> ProgressBar(std::string_view what);

// "; of 4 files 1 written, 2 kept, 1 left to other shards", or "" where all were written.
std::string FatesText(std::span<const FileReport> files);

// "1.50 GiB", "12 bytes".
std::string SizeText(std::int64_t bytes);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_COMMAND_H_
