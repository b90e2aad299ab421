#include "tests/differential/watch.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lanewise::differential {
namespace {

// What a handler may use: no allocation, no stdio.
constexpr std::size_t kRoom = 8192;
char case_name[kRoom], case_repeat[kRoom];
char stack[65536];
int limit = 0;
bool in_case = false;

void Keep(const std::string& text, char* to) {
  const std::size_t size = std::min(text.size(), kRoom - 1);
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
}

void Print(const char* text) {
  std::size_t size = std::strlen(text);
  while (size > 0) {
    const ssize_t written = write(STDOUT_FILENO, text, size);
    if (written <= 0) return;
    text += written;
    size -= static_cast<std::size_t>(written);
  }
}

void PrintNumber(int number) {
  char digits[16];
  char* at = digits + sizeof(digits) - 1;
  *at = '\0';
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  Print(at);
}

[[noreturn]] void PrintRepeatAndEnd() {
  Print("\n  again: ");
  Print(case_repeat);
  Print("\n");
  _exit(1);
}

void Handle(int signal) {
  Print(case_name);
  if (signal == SIGALRM) {
    Print("\n  it still runs after ");
    PrintNumber(limit);
    Print(" s (--timeout)");
  } else {
    Print("\n  it crashes: ");
    Print(signal == SIGSEGV   ? "an access to memory that is not there (SIGSEGV)"
          : signal == SIGBUS  ? "a misaligned access, or one past a file's end (SIGBUS)"
          : signal == SIGFPE  ? "a division by zero or the like (SIGFPE)"
          : signal == SIGILL  ? "an illegal instruction or a trap (SIGILL)"
          : signal == SIGTRAP ? "a trap (SIGTRAP)"
                              : "it aborts (SIGABRT)");
  }
  PrintRepeatAndEnd();
}

// Else a function that exits with 0 would end the cases as though all were right.
void HandleExit() {
  if (!in_case) return;
  std::fflush(stdout);
  Print(case_name);
  Print("\n  it ends the process (exit)");
  PrintRepeatAndEnd();
}

}  // namespace

void WatchCases(int seconds) {
  limit = seconds;
  // A stack of its own: a crash may be that there is none left.
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGALRM}) {
    sigaction(signal, &action, nullptr);
  }
  std::atexit(HandleExit);
  std::at_quick_exit(HandleExit);
}

void CaseBegins(const std::string& name, const std::string& repeat) {
  std::fflush(stdout);
  Keep(name, case_name);
  Keep(repeat, case_repeat);
  in_case = true;
  if (limit > 0) alarm(static_cast<unsigned>(limit));
}

void CasesEnd() {
  in_case = false;
  alarm(0);
}

}  // namespace lanewise::differential
