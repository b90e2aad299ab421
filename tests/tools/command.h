#ifndef LANEWISE_TESTS_TOOLS_COMMAND_H_
#define LANEWISE_TESTS_TOOLS_COMMAND_H_

// Runs the built `lanewise` through its command line, as a user does.

#include <filesystem>
#include <string>
#include <vector>

#include "tests/programs/run_program.h"

namespace lanewise {

// Runs `lanewise ARGUMENTS...` with the current directory `directory`, its output in pipes.
Ran RunLanewise(const std::vector<std::string>& arguments, const std::string& directory = ".");

// RunShell in which "$LANEWISE" is the command.
Ran RunLanewiseShell(const std::string& script, const std::string& directory = ".");

// Starts `lanewise ARGUMENTS...`, its output thrown away, and sends it `signal` after some
// microseconds; returns the exit status as in Ran.
int InterruptLanewise(const std::vector<std::string>& arguments, int signal, int microseconds);

// Every path below a directory, relative, sorted; directories end with a slash.
std::vector<std::string> Tree(const std::string& directory);

}  // namespace lanewise

#endif  // LANEWISE_TESTS_TOOLS_COMMAND_H_
