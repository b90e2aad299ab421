#include "benchmarks/kernel_cost/document.h"

#include <cstddef>

#include "absl/status/status.h"
#include "base/status.h"

namespace lanewise::benchmarks {
namespace {

constexpr std::string_view kBegin = "<!-- kernel_cost:";
constexpr std::string_view kEnd = "<!-- kernel_cost end -->";

struct Place {
  size_t begin, end;  // of the lines between the marks
};

absl::StatusOr<Place> FindPlace(std::string_view document) {
  const size_t mark = document.find(kBegin);
  const size_t line_end = mark == std::string_view::npos ? mark : document.find('\n', mark);
  const size_t end = line_end == std::string_view::npos ? line_end : document.find(kEnd, line_end);
  if (end == std::string_view::npos) {
    return NotFound("the document has no <!-- kernel_cost: ... --> marks");
  }
  return Place{line_end + 1, end};
}

}  // namespace

absl::StatusOr<std::string> ReplaceTable(std::string_view document, std::string_view table) {
  LANEWISE_ASSIGN_OR_RETURN(const Place place, FindPlace(document));
  std::string result(document.substr(0, place.begin));
  result += table;
  result += document.substr(place.end);
  return result;
}

absl::StatusOr<std::string> TableOf(std::string_view document) {
  LANEWISE_ASSIGN_OR_RETURN(const Place place, FindPlace(document));
  return std::string(document.substr(place.begin, place.end - place.begin));
}

std::vector<std::string> StableRows(std::string_view table) {
  // As MarkdownTable orders them: instructions a byte and the matrix core's share (6, 7),
  // registers, LDS and what follows from them (10 on) are the compiler's doing.
  constexpr size_t kStable[] = {0, 1, 2, 3, 4, 5, 8, 9};
  std::vector<std::string> rows;
  while (!table.empty()) {
    const size_t end = table.find('\n');
    std::string_view line = table.substr(0, end);
    table.remove_prefix(end == std::string_view::npos ? table.size() : end + 1);
    std::vector<std::string_view> cells;
    while (!line.empty()) {
      line.remove_prefix(1);  // '|'
      const size_t bar = line.find('|');
      if (bar == std::string_view::npos) break;
      cells.push_back(line.substr(0, bar));
      line.remove_prefix(bar);
    }
    std::string row;
    for (const size_t i : kStable) {
      if (i < cells.size()) row += std::string(cells[i]) + "|";
    }
    if (!row.empty()) rows.push_back(row);
  }
  return rows;
}

}  // namespace lanewise::benchmarks
