#include "tests/programs/run_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
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

}  // namespace

Ran RunProgram(const std::string& path, const std::vector<std::string>& arguments,
               const std::string& directory) {
  static std::atomic<int> runs = 0;
  const std::string base =
      testing::TempDir() + "/ran_" + std::to_string(getpid()) + "_" + std::to_string(runs++);
  const std::string out = base + ".out", err = base + ".err";
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  Ran ran;
  ran.command = path;
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
    signal(SIGPIPE, SIG_DFL);
    dup2(out_file, STDOUT_FILENO);
    dup2(err_file, STDERR_FILENO);
    execv(path.c_str(), argv.data());
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

Ran RunShell(const std::string& script, const std::string& directory) {
  return RunProgram("/bin/sh", {"-c", script}, directory);
}

std::string Text(const Ran& ran) {
  return ran.command + "\nexit status " + std::to_string(ran.status) + "\n" + ran.out + ran.err;
}

void ExpectSays(const Ran& ran, int status, const std::string& says) {
  EXPECT_EQ(ran.status, status) << Text(ran);
  EXPECT_TRUE(ran.out.find(says) != std::string::npos || ran.err.find(says) != std::string::npos)
      << "expected \"" << says << "\" of\n"
      << Text(ran);
}

}  // namespace lanewise
