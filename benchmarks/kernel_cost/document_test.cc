// docs/performance.md holds what //benchmarks:kernel_cost prints.

#include "benchmarks/kernel_cost/document.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/kernel_cost/cases.h"
#include "benchmarks/kernel_cost/kernel_cost.h"
#include "emulator/hip_api/control.h"
#include "gtest/gtest.h"

namespace lanewise::benchmarks {
namespace {

constexpr char kDocument[] =
    "before\n<!-- kernel_cost: written by a tool -->\n| old |\n<!-- kernel_cost end -->\nafter\n";

TEST(Document, ReplacesWhatStandsBetweenTheMarks) {
  EXPECT_EQ(*TableOf(kDocument), "| old |\n");
  EXPECT_EQ(*ReplaceTable(kDocument, "| new |\n| row |\n"),
            "before\n<!-- kernel_cost: written by a tool -->\n| new |\n| row |\n"
            "<!-- kernel_cost end -->\nafter\n");
  EXPECT_FALSE(ReplaceTable("no marks\n", "| new |\n").ok());
  EXPECT_FALSE(TableOf("<!-- kernel_cost: never ends -->\n").ok());
}

TEST(Document, StableRowsLeaveTheCompilersColumnsOut) {
  const std::vector<std::string> rows =
      StableRows("| k | s | 1 | 2 | 8.0 | 3 | 0.1 | 5 % | 0 | 0 | 16 | 0 | 32 | 1.0 | 1.0 |\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0], " k | s | 1 | 2 | 8.0 | 3 | 0 | 0 |");
}

TEST(Document, TheTableInTheDocumentationIsCurrent) {
  std::ifstream file("docs/performance.md");
  ASSERT_TRUE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  const absl::StatusOr<std::string> table = TableOf(text.str());
  ASSERT_TRUE(table.ok()) << table.status();

  emulator::SetChecks(0);  // other tests check
  std::vector<CostRow> rows;
  for (const CostCase& each : AllCases()) {
    if (each.small) continue;
    const absl::StatusOr<CostRow> row = Measure(each);
    ASSERT_TRUE(row.ok()) << row.status();
    EXPECT_TRUE(CheckFacts(each, *row).ok()) << CheckFacts(each, *row);
    rows.push_back(*row);
  }
  EXPECT_EQ(StableRows(*table), StableRows(MarkdownTable(rows)))
      << "bring it up to date with: bazel run //benchmarks:kernel_cost -- --update "
         "docs/performance.md";
}

}  // namespace
}  // namespace lanewise::benchmarks
