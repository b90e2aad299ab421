#ifndef LANEWISE_TESTS_TOOLS_COMMAND_H_
#define LANEWISE_TESTS_TOOLS_COMMAND_H_

// Runs the built `lanewise` through its command line, as a user does.

#include <cstdint>
#include <filesystem>
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

// Runs `lanewise ARGUMENTS...` with the current directory `directory`, its output in pipes.
Ran RunLanewise(const std::vector<std::string>& arguments, const std::string& directory = ".");

// Starts `lanewise ARGUMENTS...`, its output thrown away, and sends it `signal` after some
// microseconds; returns the exit status as in Ran.
int InterruptLanewise(const std::vector<std::string>& arguments, int signal, int microseconds);

// For EXPECT_TRUE: the command and all it said.
std::string Text(const Ran& ran);

// Every path below a directory, relative, sorted; directories end with a slash.
std::vector<std::string> Tree(const std::string& directory);

}  // namespace lanewise

#endif  // LANEWISE_TESTS_TOOLS_COMMAND_H_
