#ifndef LANEWISE_TESTS_PROGRAMS_RUN_PROGRAM_H_
#define LANEWISE_TESTS_PROGRAMS_RUN_PROGRAM_H_

// Runs built programs as a user does.

#include <cstdint>
#include <string>
#include <vector>

namespace lanewise {

struct Ran {
  int status = -1;  // the exit status; 128 + the signal that ended it
  std::string out;
  std::string err;
  std::string command;  // for failure messages
  // The most memory it held at once (VmHWM), where a test did not hold more itself.
  std::int64_t peak_bytes = 0;
};

// Runs the program at `path`, its output in files, with the current directory `directory`. Where
// the test stands under `bazel run` stays hidden from it.
Ran RunProgram(const std::string& path, const std::vector<std::string>& arguments,
               const std::string& directory = ".");

// Runs a script of the shell: for quoted words, limits, pipes, and files in place of stdout.
Ran RunShell(const std::string& script, const std::string& directory = ".");

// For EXPECT_TRUE: the command and all it said.
std::string Text(const Ran& ran);

// Expects this exit status, and that what it said on stdout and stderr holds `says`.
void ExpectSays(const Ran& ran, int status, const std::string& says);

}  // namespace lanewise

#endif  // LANEWISE_TESTS_PROGRAMS_RUN_PROGRAM_H_
