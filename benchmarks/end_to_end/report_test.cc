#include "benchmarks/end_to_end/report.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lanewise::benchmarks {
namespace {

Operation Runs(const char* name, std::vector<double> seconds) {
  Operation operation{name, {}};
  for (const double one : seconds) operation.runs.push_back({one, one / 2, one / 4, 3 << 20});
  return operation;
}

TEST(ReportTest, Median) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({9, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 100}), 3);
}

// In the second repetition the machine was ten times slower: the ratios are those of each.
TEST(ReportTest, RatiosAreTakenInEachRepetition) {
  const Operation copy = Runs("cp", {1, 10, 1}), prepare = Runs("prepare", {2, 20, 2});
  EXPECT_EQ(RatioTo(prepare, copy), 0.5);
  EXPECT_EQ(RatioTo(copy, prepare), 2);
  EXPECT_EQ(RatioTo(copy, copy), 1);
}

TEST(ReportTest, TableAndJson) {
  const Measured measured = {"a model", 3'000'000'000,
                             true,      {Runs("cp", {1, 2, 3}), Runs("prepare", {4, 4, 4})},
                             {"cp"},    "a processor"};
  EXPECT_EQ(Table(measured),
            "a processor\n"
            "a model: 3.00 GB, cold, median of 3\n"
            "                         seconds    GB/s        of cp   user s system s   peak MiB\n"
            "cp                         2.000    1.50         1.00     1.00     0.50        3.0\n"
            "prepare                    4.000    0.75         0.50     2.00     1.00        3.0\n");
  const auto json = nlohmann::json::parse(Json(measured));
  EXPECT_EQ(json["bytes"], 3'000'000'000);
  EXPECT_EQ(json["processor"], "a processor");
  EXPECT_EQ(json["cold"], true);
  EXPECT_EQ(json["operations"][1]["name"], "prepare");
  EXPECT_EQ(json["operations"][1]["gb_per_second"], 0.75);
  EXPECT_EQ(json["operations"][1]["ratios"]["cp"], 0.5);
  EXPECT_EQ(json["operations"][0]["runs"][2]["seconds"], 3);
}

}  // namespace
}  // namespace lanewise::benchmarks
