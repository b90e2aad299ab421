#include "tools/options.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/option_values.h"

namespace lanewise::tools {
namespace {

// More than any machine has, and as many as can be asked for in vain.
constexpr int kMostThreads = 4096;

}  // namespace

absl::StatusOr<std::int64_t> ParseSize(const std::string& text, bool decimal) {
  const auto refuse = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "': expected ", std::string(why)));
  };
  constexpr std::string_view kASize = "a size, such as 512M or 1.5GiB";
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return refuse(kASize);
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
    if (power == kUnits.npos) return refuse(kASize);
    scale = std::pow(thousand, static_cast<int>(power) + 1);
  } else if (!unit.empty()) {
    return refuse(kASize);
  }
  if (!(number * scale >= 1)) return refuse("a size of 1 byte or more");
  if (!(number * scale < 0x1p63)) return refuse("a size below 2^63 bytes");
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
      "'", text, "': expected I/N, such as 0/4, with I from 0 and less than N, N below 2^31"));
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

CLI::Option* AddRepeated(CLI::App& app, const std::string& name, std::vector<std::string>* values,
                         const std::string& about) {
  return app.add_option(name, *values, about)->allow_extra_args(false)->check(NotEmpty());
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
         "Write only part I (from 0) of N of the output files; N such runs, anywhere and in any "
         "order, write what one would. Default 0/1")
      ->type_name("I/N");
}

void AddMemory(CLI::App& app, std::int64_t* memory) {
  AddSize(app, "--memory", memory, /*decimal=*/false,
          "What the process may hold of memory, such as 512M or 4G, of 1024. Default 1G");
}

void AddThreads(CLI::App& app, int* threads) {
  app.add_option("--threads", *threads, "Threads; 0, the default, takes all processors")
      ->type_name("N")
      ->check(WholeNumber(0, kMostThreads));
}

}  // namespace lanewise::tools
