// bazel run //benchmarks -- --max_bytes 4294967296 --filter gfx942/dense --isa avx2
//
// Every layout and preparation beside memcpy and a plain streaming copy of as much traffic, in turn
// within one process, so that what else the machine does meets all three: GB/s, and the ratio to
// the better copy. Sizes grow by four from 1 MiB, within an L2 cache, to --max_bytes; threads are 1
// and all. --max_bytes 4294967296 takes 13 GiB of memory.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "benchmarks/pack/buffer.h"
#include "benchmarks/pack/cases.h"
#include "benchmarks/pack/measure.h"
#include "benchmarks/pack/report.h"
#include "benchmarks/processor.h"
#include "weights/block_kernels.h"
#include "weights/parallel.h"

namespace lanewise::benchmarks {
namespace {

struct Options {
  std::int64_t min_bytes = std::int64_t{1} << 20;
  std::int64_t max_bytes = std::int64_t{256} << 20;
  std::vector<int> threads;
  std::string filter, json, pages = "huge", clock = "wall", isa;
  int repetitions = 9;
  bool strict = false;
};

// As many bytes as `work` moves, by threads in the same way.
void Copy(std::span<const std::uint8_t> from, std::span<std::uint8_t> to, int threads,
          bool streaming) {
  constexpr std::int64_t kPiece = 4096;
  const std::int64_t bytes = std::ssize(to) / kPiece * kPiece;
  ParallelFor(bytes / kPiece, threads, [&](std::int64_t begin, std::int64_t end, int) {
    const std::uint8_t* source = from.data() + begin * kPiece;
    std::uint8_t* target = to.data() + begin * kPiece;
    if (streaming) {
      StreamCopy(source, target, (end - begin) * kPiece);
      StreamFence();
    } else {
      std::memcpy(target, source, (end - begin) * kPiece);
    }
  });
}

class Benchmark {
 public:
  explicit Benchmark(const Options& options) : options_(options) {}

  absl::Status Run() {
    if (!options_.isa.empty()) {
      if (absl::Status status = UseInstructionSet(options_.isa); !status.ok()) return status;
    }
    report_.processor = ThisProcessor();
    report_.pages = options_.pages;
    report_.clock = options_.clock;
    report_.repetitions = options_.repetitions;
    const Pages pages = options_.pages == "huge" ? Pages::kHuge : Pages::kSmall;
    // An inverse to bf16 writes 4/3 of a case's bytes; the rest is rows rounded up.
    const std::int64_t room = options_.max_bytes * 3 / 2 + (std::int64_t{4} << 20);
    absl::StatusOr<Buffer> from = Buffer::Map(room, pages), to = Buffer::Map(room, pages),
                           codes = Buffer::Map(room / 32, pages);
    for (const auto* buffer : {&from, &to, &codes}) {
      if (!buffer->ok()) return buffer->status();
    }
    Fill(Contents::kCodes, codes->span());
    std::printf("%s, %s pages, %s time, best and median of %d turns\n%s",
                report_.processor.ToString().c_str(), options_.pages.c_str(),
                options_.clock.c_str(), options_.repetitions, TableHeading().c_str());
    for (const Contents contents :
         {Contents::kRandom, Contents::kFinite, Contents::kCodes, Contents::kBf16}) {
      bool filled = false;
      for (const Case& test : PackCases()) {
        if (test.contents != contents || test.Name().find(options_.filter) == std::string::npos) {
          continue;
        }
        if (!filled) Fill(contents, from->span());
        filled = true;
        for (std::int64_t bytes = options_.min_bytes; bytes <= options_.max_bytes; bytes *= 4) {
          LANEWISE_ASSIGN_OR_RETURN(const Work work,
                                    test.bind(bytes, from->span(), codes->span(), to->span()));
          for (const int threads : options_.threads) {
            LANEWISE_RETURN_IF_ERROR(Measure(test, work, threads, from->span(), to->span()));
          }
        }
      }
    }
    return Finish();
  }

 private:
  absl::Status Measure(const Case& test, const Work& work, int threads,
                       std::span<const std::uint8_t> from, std::span<std::uint8_t> to) {
    const std::int64_t bytes = work.copy_bytes();
    absl::Status status;
    const std::function<void()> bodies[] = {
        [&] { Copy(from, to.first(bytes), threads, false); },
        [&] { Copy(from, to.first(bytes), threads, true); },
        [&] {
          if (absl::Status ran = work.run(threads); !ran.ok()) status = std::move(ran);
        },
    };
    MeasureOptions measure;
    measure.clock = options_.clock == "wall" ? Clock::kWall : Clock::kProcessor;
    measure.threads = threads;
    measure.repetitions = options_.repetitions;
    const std::vector<Samples> samples = MeasureInTurn(bodies, measure);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(test.Name(), ": ", status.ToString()));
    }
    const auto rate = [&](int i) { return static_cast<double>(bytes) / samples[i].Best() / 1e9; };
    Row row;
    row.layout = test.layout;
    row.direction = test.direction;
    row.rewrite = test.rewrite;
    row.bytes = bytes;
    row.threads = threads;
    row.memcpy_gb_per_second = rate(0);
    row.streaming_gb_per_second = rate(1);
    row.gb_per_second = rate(2);
    row.ratio = rate(2) / std::max(rate(0), rate(1));
    row.median_ratio = MedianRatio(samples[0], samples[1], samples[2]);
    row.target = test.target;
    std::fputs(TableLine(row).c_str(), stdout);
    std::fflush(stdout);
    report_.rows.push_back(std::move(row));
    return absl::OkStatus();
  }

  absl::Status Finish() const {
    if (!options_.json.empty()) {
      std::ofstream out(options_.json);
      out << ToJson(report_);
      out.close();
      if (!out) return absl::UnavailableError(absl::StrCat("could not write ", options_.json));
    }
    const auto below = std::count_if(report_.rows.begin(), report_.rows.end(),
                                     [](const Row& row) { return row.BelowTarget(); });
    std::printf("%d of %d rows are below their target\n", static_cast<int>(below),
                static_cast<int>(report_.rows.size()));
    if (options_.strict && below > 0) return absl::OutOfRangeError("rows are below their target");
    return absl::OkStatus();
  }

  const Options& options_;
  Report report_;
};

std::string UserPath(const std::string& path) {
  const char* const caller = std::getenv("BUILD_WORKING_DIRECTORY");
  return caller == nullptr || path.empty() ? path : (std::filesystem::path(caller) / path).string();
}

}  // namespace
}  // namespace lanewise::benchmarks

int main(int argc, char** argv) {
  using lanewise::benchmarks::Benchmark;
  lanewise::benchmarks::Options options;
  CLI::App app("Packing beside memcpy and a streaming copy");
  app.add_option("--min_bytes", options.min_bytes, "the first size (1 MiB)")
      ->check(CLI::Range(std::int64_t{1} << 16, std::int64_t{1} << 40));
  app.add_option("--max_bytes", options.max_bytes, "the last size (256 MiB); needs 3 times as much")
      ->check(CLI::Range(std::int64_t{1} << 16, std::int64_t{1} << 40));
  app.add_option("--threads", options.threads, "numbers of threads (1 and all)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--filter", options.filter,
                 "only cases whose layout/direction/rewrite holds this");
  app.add_option("--pages", options.pages, "huge (2 MiB, where the system gives them) or small")
      ->check(CLI::IsMember({"huge", "small"}));
  app.add_option(
         "--clock", options.clock,
         "wall, or processor: the time that processors spent, by threads; for a machine that "
         "has other work")
      ->check(CLI::IsMember({"wall", "processor"}));
  app.add_option("--isa", options.isa,
                 "use only this instruction set of the machine's, avx2 for one; else the best");
  app.add_option("--repetitions", options.repetitions, "turns of each comparison (9)")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--json", options.json, "write the rows here too");
  app.add_flag("--strict", options.strict, "fail where a row is below its target");
  CLI11_PARSE(app, argc, argv);
  if (options.threads.empty()) {
    options.threads = {1};
    if (const int all = lanewise::ThreadCount(0); all > 1) options.threads.push_back(all);
  }
  options.json = lanewise::benchmarks::UserPath(options.json);
  const absl::Status status = Benchmark(options).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
