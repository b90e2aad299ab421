#include "base/option_values.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lanewise {
namespace {

template <typename T>
bool Parse(const std::string& text, T* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

// All of the text, and no spaces before it.
bool ParseFloat(const std::string& text, float* number) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0])) != 0) return false;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  *number = static_cast<float>(value);
  return end == text.c_str() + text.size() && std::isfinite(*number) &&
         (value == 0 || *number != 0);
}

}  // namespace

CLI::Validator WholeNumber(std::int64_t least, std::int64_t most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        std::int64_t number = 0;
        if (Parse(text, &number) && number >= least && number <= most) return "";
        const bool open = most == std::numeric_limits<std::int64_t>::max();
        return absl::StrCat("'", text, "': expected a whole number ",
                            open ? absl::StrCat("of ", least, " or more, below 2^63")
                                 : absl::StrCat("from ", least, " to ", most));
      },
      "");
}

CLI::Validator Seed() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        std::uint64_t number = 0;
        if (Parse(text, &number)) return "";
        return absl::StrCat("'", text, "': expected a whole number below 2^64");
      },
      "");
}

CLI::Validator Float(float least, float most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        float number = 0;
        if (ParseFloat(text, &number) && number >= least && number <= most) return "";
        const bool open = most == std::numeric_limits<float>::max();
        return absl::StrCat("'", text, "': expected a number ",
                            open ? absl::StrFormat("of %.9g or more that a float holds", least)
                                 : absl::StrFormat("from %.9g to %.9g", least, most));
      },
      "");
}

CLI::Validator OneOf(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& text) -> std::string {
        std::string list;
        for (std::size_t i = 0; i < words.size(); ++i) {
          if (words[i] == text) return "";
          absl::StrAppend(&list, i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
        }
        return absl::StrCat("'", text, "': expected ", list);
      },
      "");
}

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](std::string& path) -> std::string { return path.empty() ? "is empty" : ""; }, "");
}

}  // namespace lanewise
