// bazel run //benchmarks/pack:draw -- pack.json [more.json ...] docs/pack.svg docs/performance.md
//
// Draws what `bazel run //benchmarks -- --json pack.json` wrote, and writes its table into the
// document between the marks. The rows of several runs, the largest sizes' for one, are put
// together; all have to be of one processor and instruction set, which picture and table name.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "benchmarks/pack/plot.h"
#include "benchmarks/pack/report.h"

namespace lanewise::benchmarks {
namespace {

constexpr char kBegin[] = "<!-- pack: written by bazel run //benchmarks/pack:draw -->\n";
constexpr char kEnd[] = "<!-- pack end -->";

std::string UserPath(const std::string& path) {
  const char* const caller = std::getenv("BUILD_WORKING_DIRECTORY");
  return caller == nullptr ? path : (std::filesystem::path(caller) / path).string();
}

absl::StatusOr<std::string> Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFound("could not open ", path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

absl::Status Write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("could not write ", path));
}

absl::Status Draw(std::span<const std::string> jsons, const std::string& svg,
                  const std::string& document) {
  Report report;
  for (std::size_t i = 0; i < jsons.size(); ++i) {
    LANEWISE_ASSIGN_OR_RETURN(const std::string text, Read(jsons[i]));
    LANEWISE_ASSIGN_OR_RETURN(Report next, FromJson(text));
    if (i == 0) {
      report = std::move(next);
    } else if (!(next.processor == report.processor)) {
      return absl::InvalidArgumentError(
          absl::StrCat(jsons[i], " is of another processor (", next.processor.ToString(),
                       ") than ", jsons[0], " (", report.processor.ToString(), ")"));
    } else {
      report.rows.insert(report.rows.end(), next.rows.begin(), next.rows.end());
    }
  }
  LANEWISE_ASSIGN_OR_RETURN(std::string page, Read(document));
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return InvalidArgument(document, " has no lines ", kBegin, "and ", kEnd);
  }
  const std::size_t table = begin + sizeof kBegin - 1;
  page.replace(table, end - table, Markdown(report));
  LANEWISE_RETURN_IF_ERROR(Write(svg, Svg(report)));
  return Write(document, page);
}

}  // namespace
}  // namespace lanewise::benchmarks

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: draw PACK.json [MORE.json ...] PLOT.svg DOCUMENT.md\n");
    return 2;
  }
  using lanewise::benchmarks::UserPath;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) paths.push_back(UserPath(argv[i]));
  const absl::Status status = lanewise::benchmarks::Draw(std::span(paths).first(paths.size() - 2),
                                                         paths[argc - 3], paths[argc - 2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
