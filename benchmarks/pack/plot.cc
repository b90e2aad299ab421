#include "benchmarks/pack/plot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace lanewise::benchmarks {
namespace {

std::string NameOf(const Row& row) {
  return absl::StrCat(row.layout, " ", row.direction, row.rewrite == "none" ? "" : ", ",
                      row.rewrite == "none" ? "" : row.rewrite);
}

// Cases round to whole rows of their layouts, so sizes that were asked for as one differ a little.
int SizeClass(std::int64_t bytes) {
  return static_cast<int>(std::lround(std::log2(static_cast<double>(bytes)) - 0.05));
}

template <class Value, class Of>
std::vector<Value> Distinct(const Report& report, const Of& of) {
  std::vector<Value> values;
  for (const Row& row : report.rows) {
    if (std::find(values.begin(), values.end(), of(row)) == values.end()) values.push_back(of(row));
  }
  return values;
}

std::vector<std::string> Names(const Report& report) {
  return Distinct<std::string>(report, NameOf);
}
std::vector<int> Threads(const Report& report) {
  std::vector<int> threads = Distinct<int>(report, [](const Row& row) { return row.threads; });
  std::sort(threads.begin(), threads.end());
  return threads;
}
std::vector<int> SizeClasses(const Report& report) {
  std::vector<int> sizes =
      Distinct<int>(report, [](const Row& row) { return SizeClass(row.bytes); });
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

std::string SizeName(int size_class) { return Size(std::int64_t{1} << size_class); }

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"<", "&lt;"}, {"&", "&amp;"}});
}

// From light, in the cache, to dark, in memory.
std::string Colour(std::size_t index, std::size_t count) {
  const double t = count < 2 ? 1 : static_cast<double>(index) / static_cast<double>(count - 1);
  return absl::StrFormat("#%02x%02x%02x", static_cast<int>(160 - 150 * t),
                         static_cast<int>(200 - 140 * t), static_cast<int>(235 - 100 * t));
}

constexpr double kNameWidth = 300, kPanelWidth = 330, kLine = 17, kTop = 64;
constexpr double kMostRatio = 1.5;  // what is beyond is drawn at the edge

}  // namespace

std::string Svg(const Report& report) {
  const std::vector<std::string> names = Names(report);
  const std::vector<int> threads = Threads(report), sizes = SizeClasses(report);
  const double height = kTop + kLine * static_cast<double>(names.size()) + 40;
  const double width = kNameWidth + kPanelWidth * static_cast<double>(threads.size()) + 20;
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
      "<text x=\"10\" y=\"18\" font-size=\"13\">Speed as a ratio to the better of memcpy and a "
      "streaming copy</text>\n"
      "<text x=\"10\" y=\"34\" fill=\"#666\">%s, %s pages, %s time, best of %d turns each; 1 is as "
      "fast as the copy</text>\n",
      width, height, width, height, Escaped(report.processor.ToString()), report.pages,
      report.clock, report.repetitions);
  const double bottom = height - 36;
  for (std::size_t panel = 0; panel < threads.size(); ++panel) {
    const double left = kNameWidth + kPanelWidth * static_cast<double>(panel);
    const auto x = [left](double ratio) {
      return left + std::clamp(ratio, 0., kMostRatio) / kMostRatio * (kPanelWidth - 30);
    };
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.0f\">%d thread%s</text>\n", left, kTop - 14,
                          threads[panel], threads[panel] == 1 ? "" : "s");
    for (const double mark : {0., 0.7, 0.9, 0.95, 1., 1.5}) {
      absl::StrAppendFormat(
          &svg, "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"%s\"/>\n", x(mark),
          kTop - 6, x(mark), bottom, mark == 1 ? "#888" : "#ddd");
      if (mark == 0.95) continue;  // too near to 0.9 and 1 for its number
      absl::StrAppendFormat(
          &svg, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\" fill=\"#666\">%g</text>\n",
          x(mark), bottom + 13, mark);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double y = kTop + kLine * (static_cast<double>(i) + 0.5);
      for (const Row& row : report.rows) {
        if (row.threads != threads[panel] || NameOf(row) != names[i]) continue;
        const std::size_t size = static_cast<std::size_t>(
            std::find(sizes.begin(), sizes.end(), SizeClass(row.bytes)) - sizes.begin());
        absl::StrAppendFormat(&svg,
                              "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>%s, %s: "
                              "%.2f</title></circle>\n",
                              x(row.ratio), y, Colour(size, sizes.size()), Escaped(names[i]),
                              Size(row.bytes), row.ratio);
      }
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    absl::StrAppendFormat(&svg, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                          kNameWidth - 12, kTop + kLine * (static_cast<double>(i) + 0.5) + 4,
                          Escaped(names[i]));
  }
  double x = 14;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    absl::StrAppendFormat(&svg,
                          "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"4\" fill=\"%s\"/>\n"
                          "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
                          x, height - 10, Colour(i, sizes.size()), x + 8, height - 6,
                          SizeName(sizes[i]));
    x += 72;
  }
  svg += "</svg>\n";
  return svg;
}

std::string Markdown(const Report& report) {
  const std::vector<int> threads = Threads(report), sizes = SizeClasses(report);
  std::string text =
      absl::StrFormat("%s; %s pages, %s time, best of %d turns.\n\n", report.processor.ToString(),
                      report.pages, report.clock, report.repetitions);
  text += "| layout, direction, rewrite | target |";
  for (const int count : threads) {
    for (const int size : sizes) {
      absl::StrAppendFormat(&text, " %s, %d |", SizeName(size), count);
    }
  }
  text += "\n|---|--:|";
  for (std::size_t i = 0; i < threads.size() * sizes.size(); ++i) text += "--:|";
  text += "\n";
  for (const std::string& name : Names(report)) {
    std::string cells;
    double target = 0;
    for (const int count : threads) {
      for (const int size : sizes) {
        const auto row = std::find_if(report.rows.begin(), report.rows.end(), [&](const Row& row) {
          return NameOf(row) == name && row.threads == count && SizeClass(row.bytes) == size;
        });
        if (row == report.rows.end()) {
          cells += "  |";
          continue;
        }
        target = row->target;
        const char* const mark = row->BelowTarget() ? "*" : "";
        absl::StrAppendFormat(&cells, " %s%.2f%s |", mark, row->ratio, mark);
      }
    }
    absl::StrAppendFormat(&text, "| %s | %.2f |%s\n", name, target, cells);
  }
  return text;
}

}  // namespace lanewise::benchmarks
