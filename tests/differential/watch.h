#ifndef LANEWISE_TESTS_DIFFERENTIAL_WATCH_H_
#define LANEWISE_TESTS_DIFFERENTIAL_WATCH_H_

// Somebody else's code runs in this process: what is printed where it crashes or never ends.

#include <string>

namespace lanewise::differential {

// From here on a signal that ends the process (a wrong access, a trap, an abort), an exit or
// quick_exit before CasesEnd, and a case that takes longer than `seconds` (0: as long as it likes),
// print the last CaseBegins' text and what happened, and end the process with exit code 1. _exit,
// which asks nobody, is not seen.
void WatchCases(int seconds);

// The case that runs now, and how to repeat it. Begins its time, and writes out what stdout still
// holds, which the end of the process would lose.
void CaseBegins(const std::string& name, const std::string& repeat);

// All cases are through: the process may exit, and take its time.
void CasesEnd();

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_WATCH_H_
