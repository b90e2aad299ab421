#include "tests/golden/run_case.h"

#include <cstddef>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "nlohmann/json.hpp"
#include "tests/golden/compare.h"

namespace lanewise::golden {
namespace {

bool IsWordCharacter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// The numbers in a text that are words of their own: 22990 and 24576, but not e4m3.
std::set<std::string> WholeNumbers(std::string_view text) {
  std::set<std::string> numbers;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && IsWordCharacter(text[end])) ++end;
    const std::string_view word = text.substr(begin, end - begin);
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == word.npos;
    if (is_number) numbers.emplace(word);
    begin = end + 1;
  }
  return numbers;
}

// Whether the refusal tells what the expected one tells: its counts and sizes, in any words.
bool TellsTheSame(std::string_view expected, std::string_view message) {
  const std::set<std::string> told = WholeNumbers(message);
  for (const std::string& number : WholeNumbers(expected)) {
    if (told.count(number) == 0) return false;
  }
  return true;
}

}  // namespace

absl::Status RunCase(const OperationTable& table, const Case& golden_case,
                     std::string_view implementation) {
  const Operation* const operation = table.Find(golden_case.op(), implementation);
  if (operation == nullptr) {
    return Unimplemented("there is no ", golden_case.op(), " in ", implementation);
  }
  const absl::StatusOr<Results> results = (*operation)(golden_case);
  if (!IsRefusal(golden_case.op())) {
    if (results.ok()) return CompareResults(golden_case, *results);
    return FailedPrecondition("refused: ", results.status().message());
  }
  LANEWISE_ASSIGN_OR_RETURN(const std::string message, golden_case.TextArg("message"));
  if (results.ok()) {
    return FailedPrecondition("accepted, expected a refusal with '", message, "'");
  }
  if (TellsTheSame(message, StdView(results.status().message()))) return absl::OkStatus();
  return FailedPrecondition("refused with '", results.status().message(),
                            "', expected the numbers of '", message, "'");
}

std::string CaseText(const Case& golden_case, std::string_view implementation) {
  return absl::StrCat("case ", golden_case.index(), " ", golden_case.op(), " ",
                      golden_case.args().dump(), " in ", AbslView(implementation));
}

}  // namespace lanewise::golden
