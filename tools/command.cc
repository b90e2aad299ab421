#include "tools/command.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lanewise::tools {

std::string UserPath(const std::string& path) {
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller == nullptr || path.empty() || path[0] == '/') return path;
  return (std::filesystem::path(caller) / path).string();
}

std::function<void(std::int64_t, std::int64_t)> ProgressBar(std::string_view what) {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  using Clock = std::chrono::steady_clock;
  struct State {
    Clock::time_point begin = Clock::now();
    Clock::time_point shown;
  };
  return [what = std::string(what), state = std::make_shared<State>()](std::int64_t done,
                                                                       std::int64_t total) {
    const Clock::time_point now = Clock::now();
    const bool last = done >= total;
    if (!last && now - state->shown < std::chrono::milliseconds(100)) return;
    state->shown = now;
    const double seconds = std::chrono::duration<double>(now - state->begin).count();
    const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
    const auto left =
        static_cast<std::int64_t>(static_cast<double>(total - done) / std::max(rate, 1.0));
    std::fputs(absl::StrFormat(
                   "\r\033[K%s  %3d %%  %s/s  %d:%02d left", what,
                   total == 0 ? 100 : 100 * (done / 1024) / std::max<std::int64_t>(1, total / 1024),
                   SizeText(static_cast<std::int64_t>(rate)), left / 60, left % 60)
                   .c_str(),
               stderr);
    if (last) std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
  };
}

std::string SizeText(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return absl::StrCat(bytes, bytes == 1 ? " byte" : " bytes");
  double size = static_cast<double>(bytes);
  int unit = -1;
  while (size >= 1024 && unit < 3) {
    size /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.2f %s", size, kUnits[unit]);
}

}  // namespace lanewise::tools
