#include "tools/console.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/printable.h"
#include "base/text.h"

namespace lanewise::tools {

void PrintLine(std::string_view line) { std::printf("%s\n", Printable(line).c_str()); }

void PrintError(std::string_view program, std::string_view message) {
  std::fprintf(stderr, "%s: %s\n", std::string(program).c_str(), PrintableLines(message).c_str());
}

void PrintNote(std::string_view program, std::string_view text) {
  PrintError(program, absl::StrCat("note: ", AbslView(text)));
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

std::string CountText(std::int64_t count, std::string_view noun) {
  return absl::StrCat(count, " ", AbslView(noun), count == 1 ? "" : "s");
}

std::string SizeText(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return CountText(bytes, "byte");
  double size = static_cast<double>(bytes);
  int unit = -1;
  // What would be printed as 1024.00 is 1 of the next.
  while (size >= 1023.995 && unit < 3) {
    size /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.2f %s", size, kUnits[std::max(unit, 0)]);
}

std::string FatesText(std::span<const FileReport> files) {
  using Fate = FileReport::Fate;
  std::map<Fate, int> count;
  for (const FileReport& file : files) ++count[file.fate];
  if (count[Fate::kKept] + count[Fate::kOthers] == 0) return "";
  std::string text = absl::StrCat("; of ", CountText(std::ssize(files), "file"), " ",
                                  count[Fate::kWritten], " written");
  if (count[Fate::kKept] > 0) absl::StrAppend(&text, ", ", count[Fate::kKept], " kept");
  if (count[Fate::kOthers] > 0) {
    absl::StrAppend(&text, ", ", count[Fate::kOthers], " left to other shards");
  }
  if (count[Fate::kWritten] + count[Fate::kKept] == 0) text += ": nothing to do here";
  return text;
}

}  // namespace lanewise::tools
