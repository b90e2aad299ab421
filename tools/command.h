#ifndef LANEWISE_TOOLS_COMMAND_H_
#define LANEWISE_TOOLS_COMMAND_H_

// What the subcommands of `lanewise` share. Each lives in a file of its own, NAME_command.cc, and
// is added to the command in lanewise.cc.

#include <atomic>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace CLI {
class App;  // its header costs ten seconds to compile
}

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

// Becomes true at SIGINT and SIGTERM, from the first call on; a second signal ends the process.
const std::atomic<bool>* Interrupted();
int InterruptingSignal();  // 0: none yet

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_COMMAND_H_
