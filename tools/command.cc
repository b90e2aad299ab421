#include "tools/command.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace lanewise::tools {

std::string UserPath(const std::string& path) {
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller == nullptr || path.empty() || path[0] == '/') return path;
  return (std::filesystem::path(caller) / path).string();
}

namespace {

std::atomic<bool> interrupted = false;
std::atomic<int> interrupting_signal = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void OnSignal(int number) {
  interrupting_signal = number;
  interrupted = true;
  // Whoever asks twice does not want to wait.
  std::signal(number, SIG_DFL);
}

}  // namespace

const std::atomic<bool>* Interrupted() {
  static const bool installed = [] {
    for (const int number : {SIGINT, SIGTERM}) std::signal(number, OnSignal);
    return true;
  }();
  static_cast<void>(installed);
  return &interrupted;
}

int InterruptingSignal() { return interrupting_signal; }

}  // namespace lanewise::tools
