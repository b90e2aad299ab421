#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/pack/cases.h"
#include "benchmarks/pack/measure.h"
#include "benchmarks/pack/plot.h"
#include "benchmarks/pack/report.h"
#include "gtest/gtest.h"
#include "layouts/catalogue.h"

namespace lanewise::benchmarks {
namespace {

TEST(Measure, RunsAllInTurnInEveryRepetition) {
  std::string order;
  const std::function<void()> bodies[] = {[&] { order += 'a'; }, [&] { order += 'b'; }};
  MeasureOptions options;
  options.repetitions = 3;
  options.sample_seconds = 0;  // one call a sample
  const std::vector<Samples> samples = MeasureInTurn(bodies, options);
  // Each once to warm up and once to see how long it takes, then in turn.
  EXPECT_EQ(order, "aabbababab");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].seconds.size(), 3u);
  EXPECT_EQ(samples[1].seconds.size(), 3u);
}

TEST(Measure, ProcessorTimeLeavesWaitsOut) {
  const std::function<void()> bodies[] = {
      [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }};
  MeasureOptions options;
  options.repetitions = 1;
  options.sample_seconds = 0;
  EXPECT_GE(MeasureInTurn(bodies, options)[0].Best(), 0.03);
  options.clock = Clock::kProcessor;
  EXPECT_LT(MeasureInTurn(bodies, options)[0].Best(), 0.02);
}

TEST(Measure, ComparesWithTheBetterCopyOfEachTurn) {
  const Samples a{{1, 4, 6}}, b{{2, 3, 9}}, subject{{2, 2, 2}};
  EXPECT_EQ(MedianRatio(a, b, subject), 1.5);  // of 0.5, 1.5, 3
  EXPECT_EQ(a.Best(), 1);
  EXPECT_EQ(a.Median(), 4);
  EXPECT_EQ((Samples{{1, 2, 4, 8}}.Median()), 3);
}

TEST(Report, ComesBackFromJson) {
  Report report;
  report.processor = {"some \"processor\"", 4, "L1 32 KiB", "SSE4"};
  report.pages = "small";
  report.clock = "processor";
  report.repetitions = 7;
  Row row;
  row.layout = "gfx942/dense", row.direction = "pack", row.rewrite = "fnuz";
  row.bytes = std::int64_t{5} << 32, row.threads = 3;
  row.gb_per_second = 1.25, row.memcpy_gb_per_second = 2.5, row.streaming_gb_per_second = 0.5;
  row.ratio = 0.5, row.median_ratio = 0.75, row.target = 0.9;
  report.rows = {row};
  const auto back = FromJson(ToJson(report));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->processor, report.processor);
  EXPECT_EQ(back->processor.caches, "L1 32 KiB");
  EXPECT_EQ(back->pages, "small");
  EXPECT_EQ(back->clock, "processor");
  EXPECT_EQ(back->repetitions, 7);
  ASSERT_EQ(back->rows.size(), 1u);
  const Row& got = back->rows[0];
  EXPECT_EQ(got.layout, "gfx942/dense");
  EXPECT_EQ(got.direction, "pack");
  EXPECT_EQ(got.rewrite, "fnuz");
  EXPECT_EQ(got.bytes, row.bytes);
  EXPECT_EQ(got.threads, 3);
  EXPECT_EQ(got.gb_per_second, 1.25);
  EXPECT_EQ(got.memcpy_gb_per_second, 2.5);
  EXPECT_EQ(got.streaming_gb_per_second, 0.5);
  EXPECT_EQ(got.ratio, 0.5);
  EXPECT_EQ(got.median_ratio, 0.75);
  EXPECT_EQ(got.target, 0.9);
}

TEST(Report, RefusesOtherJson) {
  EXPECT_FALSE(FromJson("{").ok());
  EXPECT_FALSE(FromJson("{}").ok());
  EXPECT_FALSE(
      FromJson(R"({"processor": "", "pages": "", "clock": "", "repetitions": 1, "rows": [{}]})")
          .ok());
  // Figures of no known processor.
  Report report;
  report.processor = {"AMD EPYC", 2, "L1 32 KiB", "AVX2"};
  EXPECT_TRUE(FromJson(ToJson(report)).ok());
  for (const auto member : {&Processor::model, &Processor::caches, &Processor::instruction_set}) {
    Report nameless = report;
    (nameless.processor.*member).clear();
    EXPECT_FALSE(FromJson(ToJson(nameless)).ok());
  }
}

TEST(Report, TargetsHoldFromFourMebibytesUp) {
  Row row;
  row.target = 0.95, row.ratio = 0.9, row.median_ratio = 0.9;
  row.bytes = std::int64_t{1} << 20;
  EXPECT_FALSE(row.BelowTarget());
  row.bytes = std::int64_t{4} << 20;
  EXPECT_TRUE(row.BelowTarget());
  row.median_ratio = 0.95;
  EXPECT_FALSE(row.BelowTarget());
}

TEST(Plot, HasADotForEachRowAndACellForEachSize) {
  Report report;
  report.processor = {"a <fast> one", 2, "L1 32 KiB", "AVX2"};
  report.pages = "huge", report.repetitions = 9;
  for (const int threads : {1, 4}) {
    for (const std::int64_t bytes : {std::int64_t{4} << 20, std::int64_t{60} << 20}) {
      Row row;
      row.layout = "l", row.direction = "pack", row.rewrite = "none", row.target = 0.95;
      row.bytes = bytes, row.threads = threads;
      row.ratio = row.median_ratio = threads == 4 && bytes < (8 << 20) ? 0.5 : 1.25;
      report.rows.push_back(row);
    }
  }
  EXPECT_EQ(
      Markdown(report),
      "a <fast> one, 2 cores, L1 32 KiB, AVX2; huge pages,  time, best of 9 turns.\n\n"
      "| layout, direction, rewrite | target | 4 MiB, 1 | 64 MiB, 1 | 4 MiB, 4 | 64 MiB, 4 |\n"
      "|---|--:|--:|--:|--:|--:|\n"
      "| l pack | 0.95 | 1.25 | 1.25 | *0.50* | 1.25 |\n");
  const std::string svg = Svg(report);
  std::size_t dots = 0;
  for (std::size_t at = 0; (at = svg.find("<title>", at)) != std::string::npos; ++at) ++dots;
  EXPECT_EQ(dots, report.rows.size());
  EXPECT_NE(svg.find("a &lt;fast> one"), std::string::npos);
  // Ratio 0.5 is a third of the panel: 630 + 100.
  EXPECT_NE(svg.find("cx=\"730.0\""), std::string::npos);
}

TEST(Cases, CoverEveryLayoutOfRowsAndBytesInBothDirections) {
  const std::vector<Case> cases = PackCases();
  for (const Layout& layout : kCatalogue) {
    if (layout.main.axes != 2 || layout.tag.substr(0, 5) == "mfma/") continue;
    for (const char* const direction : {"pack", "unpack"}) {
      EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                              [&](const Case& test) {
                                return test.layout == layout.tag && test.direction == direction;
                              }))
          << layout.tag << " " << direction;
    }
  }
}

TEST(Cases, AllRunAndMoveWhatTheySay) {
  const std::int64_t bytes = 3 << 20;
  std::vector<std::uint8_t> from(2 * bytes), codes(bytes), to(2 * bytes);
  Fill(Contents::kCodes, codes);
  for (const Case& test : PackCases()) {
    SCOPED_TRACE(test.Name());
    Fill(test.contents, from);
    const auto work = test.bind(bytes, from, codes, to);
    ASSERT_TRUE(work.ok()) << work.status();
    EXPECT_GE(work->copy_bytes(), bytes * 8 / 10);
    EXPECT_LE(work->copy_bytes(), bytes);
    std::fill(to.begin(), to.end(), 0xA5);
    ASSERT_TRUE(work->run(1).ok()) << work->run(1);
    // Past its end nothing is written, and before it more than a chance would leave.
    EXPECT_EQ(std::count(to.begin() + work->written_bytes, to.end(), 0xA5),
              std::ssize(to) - work->written_bytes);
    EXPECT_LT(std::count(to.begin(), to.begin() + work->written_bytes, 0xA5),
              work->written_bytes / 8);
  }
}

}  // namespace
}  // namespace lanewise::benchmarks
