// How fast the packer moves each catalogue layout, beside memcpy and a plain streaming copy of as
// many bytes, in one run. GB/s counts the bytes of the output once. `./bazelw run
// //benchmarks:pack`.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "benchmark/benchmark.h"
#include "layouts/catalogue.h"
#include "weights/block_kernels.h"
#include "weights/packer.h"
#include "weights/parallel.h"

namespace lanewise {
namespace {

// Room for `bytes`, aligned to 64 and touched.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes) : storage_(bytes + 64, 1), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    data_ = storage_.data() + (64 - address % 64) % 64;
    std::uint64_t x = 88172645463325252u;
    for (std::int64_t i = 0; i + 8 <= bytes; i += 8) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      std::memcpy(data_ + i, &x, 8);
    }
  }
  std::span<std::uint8_t> span() { return {data_, static_cast<std::size_t>(bytes_)}; }

 private:
  std::vector<std::uint8_t> storage_;
  std::int64_t bytes_;
  std::uint8_t* data_;
};

constexpr std::int64_t kRowBytes = 5120;

void Copy(benchmark::State& state, bool streaming) {
  const std::int64_t bytes = state.range(0) / kRowBytes * kRowBytes;
  const int threads = static_cast<int>(state.range(1));
  Buffer from(bytes), to(bytes);
  for (auto _ : state) {
    ParallelFor(bytes / 4096, threads, [&](std::int64_t begin, std::int64_t end, int) {
      const std::uint8_t* source = from.span().data() + begin * 4096;
      std::uint8_t* target = to.span().data() + begin * 4096;
      if (streaming) {
        StreamCopy(source, target, (end - begin) * 4096);
        StreamFence();
      } else {
        std::memcpy(target, source, (end - begin) * 4096);
      }
    });
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

void PackLayout(benchmark::State& state, const Layout& layout, Rewrite rewrite, bool unpack) {
  const std::int64_t rows = std::max<std::int64_t>(1, state.range(0) / kRowBytes / 256) * 256;
  const std::int64_t bytes = rows * kRowBytes;
  const std::int64_t extents[] = {rows, kRowBytes};
  const auto packer = Packer::Create(BindLayout(layout, extents, 2).layout);
  if (!packer.ok() || packer->layout().units() != bytes) {
    state.SkipWithError("the shape does not fit");
    return;
  }
  Buffer from(bytes), to(bytes);
  PackOptions options;
  options.rewrite = rewrite;
  options.threads = static_cast<int>(state.range(1));
  for (auto _ : state) {
    if (unpack) {
      benchmark::DoNotOptimize(
          packer->Unpack(from.span(), ContiguousSink(to.span(), kRowBytes), options.threads));
    } else {
      benchmark::DoNotOptimize(
          packer->Pack(ContiguousRows(from.span(), kRowBytes), options, to.span()));
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  const int all = ThreadCount(0);
  for (const std::int64_t bytes : {std::int64_t{1} << 20, std::int64_t{4} << 20,
                                   std::int64_t{64} << 20, std::int64_t{512} << 20}) {
    for (const int threads : {1, all}) {
      benchmark->Args({bytes, threads});
      if (all == 1) break;
    }
  }
  benchmark->ArgNames({"bytes", "threads"})->UseRealTime();
}

void Register() {
  Sizes(benchmark::RegisterBenchmark("memcpy", Copy, false));
  Sizes(benchmark::RegisterBenchmark("streaming_copy", Copy, true));
  for (const Layout& entry : kCatalogue) {
    if (entry.main.axes != 2 || entry.tag.substr(0, 5) == "mfma/") continue;
    const Layout layout = entry.WithParameter("blocks", 8).WithParameter("chunks", 8);
    const std::string name(layout.tag);
    Sizes(benchmark::RegisterBenchmark(absl::StrCat("pack/", name).c_str(), PackLayout, layout,
                                       Rewrite::kNone, false));
    Sizes(benchmark::RegisterBenchmark(absl::StrCat("unpack/", name).c_str(), PackLayout, layout,
                                       Rewrite::kNone, true));
    if (name.find("dense") != std::string::npos) {
      Sizes(benchmark::RegisterBenchmark(absl::StrCat("pack_to_fnuz/", name).c_str(), PackLayout,
                                         layout, Rewrite::kE4m3ToFnuz, false));
    }
    if (name.find("fp4") != std::string::npos) {
      Sizes(benchmark::RegisterBenchmark(absl::StrCat("pack_without_minus_zero/", name).c_str(),
                                         PackLayout, layout, Rewrite::kE2m1DropNegativeZero,
                                         false));
    }
  }
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  lanewise::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
