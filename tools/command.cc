#include "tools/command.h"

#include <unistd.h>

#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lanewise::tools {

std::string UserPath(const std::string& path) {
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller == nullptr || path.empty() || path[0] == '/') return path;
  return (std::filesystem::path(caller) / path).string();
}

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](std::string& path) { return path.empty() ? std::string("the path is empty") : ""; }, "");
}

absl::StatusOr<std::int64_t> ParseSize(const std::string& text, bool decimal) {
  const auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no size: expected such as 512M or 1.5GiB"));
  };
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return refuse();
  std::string unit(rest, end);
  double thousand = decimal ? 1000 : 1024;
  for (const char* suffix : {"iB", "i", "B"}) {
    if (!unit.ends_with(suffix)) continue;
    unit.resize(unit.size() - std::strlen(suffix));
    if (suffix[0] == 'i') thousand = 1024;
    break;
  }
  constexpr std::string_view kUnits = "KMGT";
  double scale = 1;
  if (unit.size() == 1) {
    const std::size_t power =
        kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0]))));
    if (power == kUnits.npos) return refuse();
    scale = std::pow(thousand, static_cast<int>(power) + 1);
  } else if (!unit.empty()) {
    return refuse();
  }
  if (!(number * scale >= 1) || number * scale >= 9e18) return refuse();
  return static_cast<std::int64_t>(number * scale);
}

absl::StatusOr<std::pair<int, int>> ParseShard(const std::string& text) {
  int index = -1, count = -1;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, index);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '/') {
    const auto second = std::from_chars(first.ptr + 1, end, count);
    if (second.ec == std::errc() && second.ptr == end && index >= 0 && index < count) {
      return std::pair(index, count);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no shard: expected I/N, such as 0/4, with I from 0 and less than N"));
}

void AddRules(CLI::App& app, OutputRules* rules) {
  app.add_flag("--overwrite", rules->overwrite, "Replace files that are at OUT already");
  app.add_flag("--resume", rules->resume,
               "Go on with an earlier run: keep files at OUT that are what would be written");
  app.add_option_function<std::string>(
         "--shard",
         [rules](const std::string& text) {
           const absl::StatusOr<std::pair<int, int>> shard = ParseShard(text);
           if (!shard.ok()) {
             throw CLI::ValidationError("--shard", std::string(shard.status().message()));
           }
           rules->shard = {shard->first, shard->second};
         },
         "I/N: write only part I (from 0) of N of the output files; N such runs, anywhere and in "
         "any order, write what one would")
      ->type_name("I/N");
}

void AddSize(CLI::App& app, const std::string& name, std::int64_t* bytes, bool decimal,
             const std::string& about) {
  app.add_option_function<std::string>(
         name,
         [=](const std::string& text) {
           const absl::StatusOr<std::int64_t> size = ParseSize(text, decimal);
           if (!size.ok()) {
             throw CLI::ValidationError(name, std::string(size.status().message()));
           }
           *bytes = *size;
         },
         about)
      ->type_name("SIZE");
}

void AddMemory(CLI::App& app, std::int64_t* memory) {
  AddSize(app, "--memory", memory, /*decimal=*/false,
          "What the process may hold of memory, such as 512M or 4G; 1G by default");
}

CLI::Validator AtLeast(std::int64_t least) {
  return CLI::Validator(
      [least](std::string& text) {
        std::int64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc() && rest == end && number >= least) return std::string();
        return absl::StrCat(text, " is out of range, expected ", least, " or more");
      },
      "");
}

std::string Printable(std::string_view text) {
  std::string printable;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char first = byte(i);
    // How many bytes the character has, and the least that its second may be.
    std::size_t length = first < 0x80                    ? 1
                         : first >= 0xC2 && first < 0xE0 ? 2
                         : first < 0xF0                  ? 3
                                                         : 4;
    const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    bool whole = first < 0x80 || (first >= 0xC2 && first <= 0xF4 && i + length <= text.size());
    for (std::size_t k = 1; whole && k < length; ++k) {
      whole = byte(i + k) >= (k == 1 ? low : 0x80) && byte(i + k) <= (k == 1 ? high : 0xBF);
    }
    const bool control = (first < 0x20 && first != '\n') || first == 0x7F;
    if (whole && !control) {
      printable.append(text.substr(i, length));
    } else {
      length = 1;
      absl::StrAppendFormat(&printable, "\\x%02X", first);
    }
    i += length;
  }
  return printable;
}

void AddThreads(CLI::App& app, int* threads) {
  app.add_option("--threads", *threads, "Threads; 0, the default, takes all processors")
      ->check(AtLeast(0));
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

std::string FatesText(std::span<const FileReport> files) {
  using Fate = FileReport::Fate;
  std::map<Fate, int> count;
  for (const FileReport& file : files) ++count[file.fate];
  if (count[Fate::kKept] + count[Fate::kOthers] == 0) return "";
  std::string text =
      absl::StrCat("; of ", files.size(), " files ", count[Fate::kWritten], " written");
  if (count[Fate::kKept] > 0) absl::StrAppend(&text, ", ", count[Fate::kKept], " kept");
  if (count[Fate::kOthers] > 0) {
    absl::StrAppend(&text, ", ", count[Fate::kOthers], " left to other shards");
  }
  if (count[Fate::kWritten] + count[Fate::kKept] == 0) text += ": nothing to do here";
  return text;
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
