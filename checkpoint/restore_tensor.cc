#include "checkpoint/restore_tensor.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <mutex>

#include "checkpoint/touched_bytes.h"
#include "weights/parallel.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

// Whether rows have places of their own: codes that stand for several rows do not.
bool RowsAreApart(const TensorPlan& plan) {
  return plan.conversion != Conversion::kScaleCode && plan.conversion != Conversion::kE4m3ToBf16 &&
         plan.agreeing_rows == 1;
}

// Whether leads can be restored one by one.
bool LeadsAreApart(const TensorPlan& plan) {
  const bool byte_by_byte = plan.conversion == Conversion::kNone ||
                            plan.conversion == Conversion::kE4m3ToFnuz ||
                            plan.conversion == Conversion::kE2m1DropNegativeZero;
  return LeadRowsOf(plan.packer).contiguous || (byte_by_byte && plan.agreeing_rows == 1);
}

// Whole blocks, wherever the bytes begin.
std::int64_t Blocks(std::int64_t bytes) {
  return (bytes + kPageBlockBytes - 1) / kPageBlockBytes * kPageBlockBytes + kPageBlockBytes;
}

std::int64_t PieceMemory(const TensorPlan& plan, std::int64_t leads) {
  const std::int64_t bytes = leads * plan.packer.lead_bytes();
  std::int64_t memory = Blocks(bytes) + bytes;  // and a buffer for what is computed
  for (const TouchedBytes& run : TouchedByLeads(plan, 0, leads)) memory += Blocks(run.size());
  return memory;
}

void Pass(const std::vector<TouchedBytes>& touched, const std::vector<MappedSink>& sinks,
          PassedPages* passed) {
  for (const TouchedBytes& run : touched) {
    const MappedSink& sink = sinks[run.source];
    passed->Add(sink.mapping, sink.bytes.subspan(run.begin, run.size()));
  }
}

Sinks SpansOf(const std::vector<MappedSink>& sinks) {
  Sinks spans;
  for (const MappedSink& sink : sinks) spans.push_back(sink.bytes);
  return spans;
}

// Calls work(first, count) for runs of at most `step` of `units`, each thread taking the next.
// Returns the failure of the earliest run.
absl::Status InSteps(std::int64_t units, std::int64_t step, int threads,
                     const std::function<absl::Status(std::int64_t, std::int64_t)>& work) {
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::int64_t failed_at = units;
  absl::Status failure;
  ParallelFor(threads, threads, [&](std::int64_t, std::int64_t, int) {
    for (std::int64_t first = next.fetch_add(step); first < units; first = next.fetch_add(step)) {
      absl::Status status = work(first, std::min(step, units - first));
      if (status.ok()) continue;
      const std::lock_guard lock(mutex);
      next = units;  // earlier runs are all under way
      if (first < failed_at) {
        failed_at = first;
        failure = std::move(status);
      }
    }
  });
  return failure;
}

}  // namespace

std::int64_t LeastRestoreMemory(const TensorPlan& plan) {
  if (plan.bytes() == 0) return 0;
  return PieceMemory(plan, LeadsAreApart(plan) ? 1 : plan.packer.leads());
}

absl::Status RestoreTensor(const TensorPlan& plan, const MappedSource& from,
                           const std::vector<MappedSink>& sinks, const RestoreSettings& settings) {
  const Sinks spans = SpansOf(sinks);
  const std::int64_t leads = plan.packer.leads(), lead_bytes = plan.packer.lead_bytes();
  // Places are checked before any of them is touched.
  if (absl::Status status = RestorePlanLeads(plan, {}, 0, 0, 1, spans);
      !status.ok() && LeadsAreApart(plan)) {
    return status;
  }
  if (leads == 0) return absl::OkStatus();
  const std::int64_t step =
      LeadsAreApart(plan) ? std::clamp<std::int64_t>(settings.piece_bytes / lead_bytes, 1, leads)
                          : leads;
  const std::int64_t at_once = settings.memory / std::max<std::int64_t>(1, PieceMemory(plan, step));
  const int threads =
      RowsAreApart(plan)
          ? static_cast<int>(std::clamp<std::int64_t>(at_once, 1, ThreadCount(settings.threads)))
          : 1;
  return InSteps(leads, step, threads, [&](std::int64_t first, std::int64_t count) {
    const auto memory = from.bytes.subspan(first * lead_bytes, count * lead_bytes);
    PopulatePages(memory);
    absl::Status status = RestorePlanLeads(plan, memory, first, count, 1, spans);
    settings.passed->Add(from.mapping, memory);
    if (status.ok()) Pass(TouchedByLeads(plan, first, count), sinks, settings.passed);
    return status;
  });
}

absl::Status RestoreZeroSigns(const TensorPlan& plan, const MappedSource& bits,
                              const std::vector<MappedSink>& sinks,
                              const RestoreSettings& settings) {
  const Sinks spans = SpansOf(sinks);
  const std::int64_t step = std::max<std::int64_t>(
      1, settings.piece_bytes / std::max<std::int64_t>(1, plan.source_row_bytes));
  std::int64_t zeros = 0;
  for (std::int64_t row = 0; row < plan.rows(); row += step) {
    const std::int64_t end = std::min(plan.rows(), row + step);
    const std::int64_t before = zeros;
    zeros += ApplyZeroSignsToRows(plan, bits.bytes, zeros, row, end, spans);
    Pass(TouchedByRows(plan, row, end), sinks, settings.passed);
    const std::int64_t size = std::ssize(bits.bytes);
    const std::int64_t begin = std::min(size, before / 8), last = std::min(size, (zeros + 7) / 8);
    settings.passed->Add(bits.mapping, bits.bytes.subspan(begin, last - begin));
  }
  return CheckZeroSigns(bits.bytes, zeros);
}

void CopyTensor(const MappedSource& from, const MappedSink& to, const RestoreSettings& settings) {
  const int threads = ThreadCount(settings.threads);
  absl::Status done = InSteps(std::ssize(from.bytes), settings.piece_bytes, threads,
                              [&](std::int64_t first, std::int64_t count) {
                                const auto source = from.bytes.subspan(first, count);
                                PopulatePages(source);
                                std::memcpy(to.bytes.data() + first, source.data(), source.size());
                                settings.passed->Add(from.mapping, source);
                                settings.passed->Add(to.mapping, to.bytes.subspan(first, count));
                                return absl::OkStatus();
                              });
  done.IgnoreError();  // nothing in it fails
}

}  // namespace lanewise
