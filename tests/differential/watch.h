#ifndef LANEWISE_TESTS_DIFFERENTIAL_WATCH_H_
#define LANEWISE_TESTS_DIFFERENTIAL_WATCH_H_

// Somebody else's code runs in this process: what is printed where it crashes or never ends.

#include <string>

namespace lanewise::differential {

// From here on a signal that ends the process (a wrong access, a trap, an abort), and a case that
// takes longer than `seconds` (0: as long as it likes), print the last CaseBegins' text and what
// happened, and end the process with exit code 1.
void WatchCases(int seconds);

// The case that runs now, and how to repeat it. Begins its time.
void CaseBegins(const std::string& name, const std::string& repeat);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_WATCH_H_
