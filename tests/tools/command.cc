#include "tests/tools/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

std::string TakeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  std::filesystem::remove(path);
  return text;
}

std::string BinaryPath() {
  const char* runfiles = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  if (runfiles == nullptr || workspace == nullptr) return "tools/lanewise";
  return std::string(runfiles) + "/" + workspace + "/tools/lanewise";
}

}  // namespace

Ran RunLanewise(const std::vector<std::string>& arguments, const std::string& directory) {
  static std::atomic<int> runs = 0;
  const std::string base =
      testing::TempDir() + "/lanewise_" + std::to_string(getpid()) + "_" + std::to_string(runs++);
  const std::string binary = BinaryPath(), out = base + ".out", err = base + ".err";
  std::vector<char*> argv = {const_cast<char*>(binary.c_str())};
  Ran ran;
  ran.command = "lanewise";
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
    ran.command += " " + argument;
  }
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int out_file = open(out.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    const int err_file = open(err.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (chdir(directory.c_str()) != 0) _exit(126);
    unsetenv("BUILD_WORKING_DIRECTORY");
    dup2(out_file, STDOUT_FILENO);
    dup2(err_file, STDERR_FILENO);
    execv(binary.c_str(), argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage = {};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return ran;
  ran.peak_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = TakeFile(out);
  ran.err = TakeFile(err);
  return ran;
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

std::string Text(const Ran& ran) {
  return ran.command + "\nexit status " + std::to_string(ran.status) + "\n" + ran.out + ran.err;
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
