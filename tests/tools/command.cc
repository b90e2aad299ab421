#include "tests/tools/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace lanewise {
namespace {

std::string BinaryPath() {
  const char* runfiles = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  if (runfiles == nullptr || workspace == nullptr) return "tools/lanewise";
  return std::string(runfiles) + "/" + workspace + "/tools/lanewise";
}

}  // namespace

Ran RunLanewise(const std::vector<std::string>& arguments, const std::string& directory) {
  return RunProgram(BinaryPath(), arguments, directory);
}

Ran RunLanewiseShell(const std::string& script, const std::string& directory) {
  return RunShell("LANEWISE='" + BinaryPath() + "'; " + script, directory);
}

int InterruptLanewise(const std::vector<std::string>& arguments, int signal, int microseconds) {
  const std::string binary = BinaryPath();
  std::vector<char*> argv = {const_cast<char*>(binary.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execv(binary.c_str(), argv.data());
    _exit(127);
  }
  usleep(static_cast<useconds_t>(microseconds));
  kill(child, signal);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<std::string> Tree(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    paths.push_back(std::filesystem::relative(entry.path(), directory).string() +
                    (entry.is_directory() ? "/" : ""));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace lanewise
