#include "hip/runtime/ptx_signature.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace lanewise::hip {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

// The text without // comments. (Compilers write no others.)
std::string WithoutComments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    result.append(line.substr(0, line.find("//")));
    result += '\n';
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return result;
}

// What stands before the first of `ends`, trimmed; the text goes on behind it.
std::string_view Take(std::string_view& text, std::string_view ends) {
  const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  const size_t end = std::min(text.find_first_of(ends, begin), text.size());
  std::string_view word = text.substr(begin, end - begin);
  word = word.substr(0, word.find_last_not_of(kSpaces) + 1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// The number that is all of `text`, or 0.
int64_t Number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// Bytes of a type such as .u64 or .b8; 0 for what is none.
int64_t TypeBytes(std::string_view word) {
  if (word.size() < 3 || word[0] != '.' || word.find_first_of("busf") != 1) return 0;
  return Number(word.substr(2)) / 8;
}

// Bytes of a parameter: ".param .u64 .ptr .align 1 NAME", ".param .align 4 .b8 NAME[20]".
int64_t ParameterBytes(std::string_view parameter) {
  int64_t bytes = 0;
  std::string_view word;
  for (std::string_view rest = parameter; !rest.empty();) {
    word = Take(rest, kSpaces);
    if (bytes == 0) bytes = TypeBytes(word);
  }
  const size_t bracket = word.find('[');
  if (bracket == std::string_view::npos) return bytes;
  return bytes * Number(word.substr(bracket + 1, word.size() - bracket - 2));
}

}  // namespace

bool IsPtx(std::string_view code_object) {
  // Before .version there are comments alone: no need to read a large module whole.
  const std::string head = WithoutComments(code_object.substr(0, 4096));
  const size_t first = head.find_first_not_of(kSpaces);
  return first != std::string::npos && head.compare(first, 8, ".version") == 0;
}

absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ReadPtxSignatures(
    std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry";
  const std::string text = WithoutComments(ptx);
  std::map<std::string, std::vector<int64_t>> signatures;
  for (size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at)) {
    at += kEntry.size();
    const std::string_view directive(text.data() + at,
                                     std::min(text.find('{', at), text.size()) - at);
    const size_t open = directive.find('('), close = directive.find(')');
    std::string_view name = directive;
    std::vector<int64_t>& sizes = signatures[std::string(Take(name, " \t\r\n("))];
    if (open == std::string_view::npos || close == std::string_view::npos) continue;
    for (std::string_view list = directive.substr(open + 1, close - open - 1); !list.empty();) {
      const std::string_view parameter = Take(list, ",");
      if (parameter.empty()) continue;  // "()"
      sizes.push_back(ParameterBytes(parameter));
      if (sizes.back() <= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the PTX has a parameter of no size: ", AbslView(parameter)));
      }
    }
  }
  return signatures;
}

}  // namespace lanewise::hip
