#include "weights/tensor_plan.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "weights/bf16_rows.h"
#include "weights/block_kernels.h"
#include "weights/code_rows.h"
#include "weights/lead_rows.h"
#include "weights/parallel.h"

namespace lanewise {
namespace {

bool IsFromBf16(Conversion conversion) {
  return conversion == Conversion::kBf16ToE4m3 || conversion == Conversion::kBf16ToFnuz;
}

// Conversions that the packer does not do byte by byte.
bool IsComputed(Conversion conversion) {
  return conversion == Conversion::kScaleCode || IsFromBf16(conversion) ||
         conversion == Conversion::kE4m3ToBf16;
}

Rewrite RewriteOf(Conversion conversion) {
  switch (conversion) {
    case Conversion::kE4m3ToFnuz:
    case Conversion::kBf16ToFnuz:
      return Rewrite::kE4m3ToFnuz;
    case Conversion::kE2m1DropNegativeZero:
      return Rewrite::kE2m1DropNegativeZero;
    default:
      return Rewrite::kNone;
  }
}

std::int64_t Elements(const TensorPlan& plan) {
  return IsFromBf16(plan.conversion) ? plan.row_bytes : plan.source_row_bytes;
}

// The bytes from the first to the last that a row stands for.
std::int64_t SourceExtent(const TensorPlan& plan) {
  return (plan.agreeing_rows - 1) * plan.agreeing_stride + plan.source_row_bytes;
}

// Elements under one scale code of a bf16 conversion, and a row's codes.
std::int64_t CodeElements(const TensorPlan& plan) { return 32 * plan.code_repeat; }
std::int64_t CodeBytes(const TensorPlan& plan) {
  return (Elements(plan) + CodeElements(plan) - 1) / CodeElements(plan);
}

template <class Spans>
absl::Status CheckPlace(const Spans& spans, const RowPlace& place, std::int64_t bytes,
                        std::int64_t row) {
  if (place.IsPadding()) return absl::OkStatus();
  if (place.source >= std::ssize(spans)) {
    return absl::InvalidArgumentError(absl::StrCat("row ", row, " lies in source ", place.source,
                                                   ", but there are ", spans.size()));
  }
  const std::int64_t size = std::ssize(spans[place.source]);
  if (place.offset < 0 || bytes < 0 || place.offset > size - bytes) {
    return absl::InvalidArgumentError(absl::StrCat("row ", row, " lies at bytes ", place.offset,
                                                   " .. ", place.offset + bytes, " of source ",
                                                   place.source, ", which has ", size));
  }
  return absl::OkStatus();
}

// The places of rows [begin, end), before anything is read or written.
template <class Spans>
absl::Status CheckPlaces(const TensorPlan& plan, const Spans& spans, std::int64_t begin,
                         std::int64_t end) {
  const auto check = [&](std::int64_t row) {
    const RowPlace place = plan.place(row);
    absl::Status status = CheckPlace(spans, place, SourceExtent(plan), row);
    if (!status.ok() || plan.code_place == nullptr || place.IsPadding()) return status;
    return CheckPlace(spans, plan.code_place(row), CodeBytes(plan), row);
  };
  // Of rows that are evenly spaced all lie between the first and the last.
  const bool spaced =
      plan.place.spaced() && (plan.code_place == nullptr || plan.code_place.spaced());
  if (spaced && begin < end && check(begin).ok() && check(end - 1).ok()) return absl::OkStatus();
  for (std::int64_t row = begin; row < end; ++row) {
    if (absl::Status status = check(row); !status.ok()) return status;
  }
  return absl::OkStatus();
}

template <class Spans>
absl::Status CheckPlaces(const TensorPlan& plan, const Spans& spans) {
  return CheckPlaces(plan, spans, 0, plan.rows());
}

// Finds what a run must refuse: the first fault by row, whichever thread meets it.
class FirstFault {
 public:
  void Add(std::int64_t row, std::string message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!fault_ || row < fault_->first) fault_ = {row, std::move(message)};
    any_ = true;
  }
  bool any() const { return any_; }
  absl::Status status() const {
    return fault_ ? absl::InvalidArgumentError(fault_->second) : absl::OkStatus();
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> any_ = false;
  std::optional<std::pair<std::int64_t, std::string>> fault_;
};

const std::uint8_t* At(const Sources& sources, const RowPlace& place) {
  return sources[place.source].data() + place.offset;
}
std::uint8_t* At(const Sinks& sinks, const RowPlace& place) {
  return sinks[place.source].data() + place.offset;
}

void CheckAgreement(const TensorPlan& plan, const std::uint8_t* first_row, std::int64_t row,
                    FirstFault* fault) {
  for (std::int64_t i = 1; i < plan.agreeing_rows; ++i) {
    const std::uint8_t* other = first_row + i * plan.agreeing_stride;
    if (std::memcmp(other, first_row, plan.source_row_bytes) == 0) continue;
    const auto [a, b] = std::mismatch(other, other + plan.source_row_bytes, first_row);
    fault->Add(row,
               absl::StrFormat(
                   "row scales (%d, %d) are not 32 x 32 blocks: row %d has code %d at column %d, "
                   "row %d has %d",
                   plan.rows() * plan.agreeing_rows, plan.source_row_bytes,
                   row * plan.agreeing_rows + i, *a, a - other, row * plan.agreeing_rows, *b));
    return;
  }
}

void RaiseCodes(const TensorPlan& plan, const std::uint8_t* codes, std::int64_t row,
                std::uint8_t* raised, FirstFault* fault) {
  for (std::int64_t i = 0; i < plan.source_row_bytes; ++i) {
    if (codes[i] >= plan.first_refused_code) {
      fault->Add(row, absl::StrFormat("scale code %d (0x%02X) at row %d, column %d: expected less "
                                      "than %d, a scale code this large overflows the factor",
                                      codes[i], codes[i], row, i, plan.first_refused_code));
      return;
    }
    const std::int64_t begin = i * plan.code_repeat;
    const std::int64_t end = std::min(begin + plan.code_repeat, plan.row_bytes);
    std::fill(raised + begin, raised + end,
              static_cast<std::uint8_t>(codes[i] + plan.code_increment));
  }
}

bool Streams(PackOptions::Stores stores, std::int64_t bytes) {
  return stores == PackOptions::Stores::kStreaming ||
         (stores == PackOptions::Stores::kAuto && bytes >= kStreamingBytes);
}

// The source's code behind a prepared one.
void LowerCode(const TensorPlan& plan, std::uint8_t code, std::int64_t row, std::int64_t column,
               std::uint8_t* lowered, FirstFault* fault) {
  if (code < plan.code_increment) {
    fault->Add(row, absl::StrCat("prepared scale code ", code, " at row ", row, ", column ", column,
                                 ": expected at least ", plan.code_increment));
  }
  *lowered = static_cast<std::uint8_t>(code - plan.code_increment);
}

void CheckNans(const std::uint8_t* bytes, std::int64_t count, std::int64_t row, FirstFault* fault) {
  const std::uint8_t* found =
      std::find_if(bytes, bytes + count, [](std::uint8_t b) { return (b & 0x7F) == 0x7F; });
  if (found == bytes + count) return;
  fault->Add(row,
             absl::StrFormat("byte 0x%02X at row %d, column %d is an OCP NaN: as FNUZ it would "
                             "read as a finite number",
                             *found, row, found - bytes));
}

// The converted row, in `scratch`.
void ConvertRow(const TensorPlan& plan, const Sources& sources, std::int64_t row,
                std::uint8_t* scratch, std::atomic<std::int64_t>* inexact, FirstFault* fault) {
  const std::uint8_t* from = At(sources, plan.place(row));
  if (plan.conversion == Conversion::kScaleCode) {
    if (plan.code_repeat == 1 && AddToCodes(from, plan.source_row_bytes, plan.code_increment, 0,
                                            std::min(plan.first_refused_code, 256) - 1,
                                            /*streaming=*/false, scratch)) {
      return;
    }
    return RaiseCodes(plan, from, row, scratch, fault);
  }
  const std::uint8_t* codes = At(sources, plan.code_place(row));
  if (plan.conversion == Conversion::kE4m3ToBf16) {
    return DequantizeRow(from, codes, CodeElements(plan), Elements(plan), scratch);
  }
  const WrongValues wrong =
      OcpFromDequantRow(from, codes, CodeElements(plan), Elements(plan), scratch);
  if (wrong.count == 0) return;
  *inexact += wrong.count;
  const std::int64_t at = wrong.first;
  fault->Add(row, absl::StrFormat("[%d, %d] is bf16 0x%02X%02X under code %d", row, at,
                                  from[2 * at + 1], from[2 * at], codes[at / CodeElements(plan)]));
}

// Takes a converted row back to its place (past the caches if `streaming`), and to those of the
// rows that agree with it.
void RestoreRow(const TensorPlan& plan, const std::uint8_t* converted, std::int64_t row,
                bool streaming, const Sinks& sinks, FirstFault* fault) {
  std::uint8_t* to = At(sinks, plan.place(row));
  if (IsFromBf16(plan.conversion)) {
    const std::uint8_t* codes = At(sinks, plan.code_place(row));
    UndoOcpFromDequantRow(converted, codes, CodeElements(plan), Elements(plan), streaming, to);
  } else if (plan.conversion == Conversion::kE4m3ToBf16) {
    const std::uint8_t* codes = At(sinks, plan.code_place(row));
    const WrongValues wrong =
        UndoDequantizeRow(converted, codes, CodeElements(plan), Elements(plan), to);
    if (wrong.count > 0) {
      fault->Add(row,
                 absl::StrFormat("%d values of row %d are not e4m3 x scale, the first at column "
                                 "%d",
                                 wrong.count, row, wrong.first));
    }
  } else if (plan.conversion == Conversion::kScaleCode) {
    const bool lowered =
        plan.code_repeat == 1 && AddToCodes(converted, plan.source_row_bytes, -plan.code_increment,
                                            plan.code_increment, 255, /*streaming=*/false, to);
    for (std::int64_t i = 0; !lowered && i < plan.source_row_bytes; ++i) {
      LowerCode(plan, converted[i * plan.code_repeat], row, i, to + i, fault);
    }
  } else {
    std::memcpy(to, converted, plan.source_row_bytes);
  }
  for (std::int64_t i = 1; i < plan.agreeing_rows; ++i) {
    std::memcpy(to + i * plan.agreeing_stride, to, plan.source_row_bytes);
  }
}

bool IsRowMajor(const BoundLayout& layout) {
  if (layout.regions() != 1) return false;
  const Region& region = layout.region(0);
  for (int i = 0; i < region.digits; ++i) {
    if (region.digit[i].memory_stride != region.digit[i].logical_stride) return false;
  }
  return true;
}

// Whether rows of codes stay rows, each for itself.
bool MovesCodeRows(const TensorPlan& plan) {
  return plan.conversion == Conversion::kScaleCode && plan.agreeing_rows == 1 &&
         plan.code_repeat == 1 && plan.source_row_bytes == plan.row_bytes && plan.bytes() > 0 &&
         IsRowMajor(plan.packer.layout()) &&
         plan.packer.lead_bytes() % plan.packer.layout().extent(1) == 0;
}

CodeRows CodeRowsOf(const TensorPlan& plan, std::int64_t rows, int threads) {
  return {rows, plan.row_bytes, plan.packer.layout().extent(1), plan.padding, threads};
}

// The rows of `plan` that follow each other from `row` on, before `end`, at places in `spans`.
template <class Byte, class Spans>
CodeRun<Byte> RunAt(const TensorPlan& plan, const Spans& spans, std::int64_t row,
                    std::int64_t end) {
  const RowPlace place = plan.place(row);
  if (place.IsPadding()) return {};
  if (plan.place.spaced()) {
    return {At(spans, place), plan.place.stride() == plan.row_bytes ? end - row : 1};
  }
  std::int64_t rows = 1;
  for (; row + rows < end; ++rows) {
    const RowPlace next = plan.place(row + rows);
    if (next.source != place.source || next.offset != place.offset + rows * plan.row_bytes) break;
  }
  return {At(spans, place), rows};
}

// The leads from `first` on that fill `memory`. False where anything has to be refused; what, the
// general way finds again.
bool RunCodeRows(const TensorPlan& plan, const Sources& sources, const RunOptions& options,
                 std::int64_t first, std::span<std::uint8_t> memory) {
  const std::int64_t memory_row_bytes = plan.packer.layout().extent(1);
  const std::int64_t first_row = first * plan.packer.lead_bytes() / memory_row_bytes;
  const CodeRows rows = CodeRowsOf(plan, std::ssize(memory) / memory_row_bytes, options.threads);
  if (!CheckPlaces(plan, sources, first_row, first_row + rows.rows).ok()) return false;
  return RaiseCodeRows(
      rows, plan.code_increment, plan.first_refused_code,
      Streams(options.stores, std::ssize(memory)),
      [&](std::int64_t row, std::int64_t end) {
        return RunAt<const std::uint8_t>(plan, sources, first_row + row, first_row + end);
      },
      memory.data());
}

bool RestoreCodeRows(const TensorPlan& plan, std::span<const std::uint8_t> memory, int threads,
                     const Sinks& sinks) {
  if (!CheckPlaces(plan, sinks).ok()) return false;
  return LowerCodeRows(CodeRowsOf(plan, plan.rows(), threads), plan.code_increment,
                       Streams(PackOptions::Stores::kAuto, std::ssize(memory)), memory.data(),
                       [&](std::int64_t row, std::int64_t end) {
                         return RunAt<std::uint8_t>(plan, sinks, row, end);
                       });
}

// What a thread takes back to rows at a time before it undoes their conversion: within its L2
// cache.
constexpr std::int64_t kRestoredBytes = 256 * 1024;

// How many values of the whole plan are not e4m3 x code.
std::int64_t CountInexact(const TensorPlan& plan, const Sources& sources) {
  std::atomic<std::int64_t> inexact = 0;
  FirstFault ignored;
  std::vector<std::uint8_t> scratch(plan.row_bytes);
  for (std::int64_t row = 0; row < plan.rows(); ++row) {
    if (!plan.place(row).IsPadding()) {
      ConvertRow(plan, sources, row, scratch.data(), &inexact, &ignored);
    }
  }
  return inexact;
}

std::int64_t DataRows(const TensorPlan& plan) {
  std::int64_t rows = 0;
  for (std::int64_t row = 0; row < plan.rows(); ++row) rows += !plan.place(row).IsPadding();
  return rows;
}

}  // namespace

std::string_view ConversionName(Conversion conversion) {
  switch (conversion) {
    case Conversion::kNone:
      return "none";
    case Conversion::kE4m3ToFnuz:
      return "e4m3_to_fnuz";
    case Conversion::kE2m1DropNegativeZero:
      return "e2m1_drop_negative_zero";
    case Conversion::kScaleCode:
      return "scale_code";
    case Conversion::kBf16ToE4m3:
      return "bf16_to_e4m3";
    case Conversion::kBf16ToFnuz:
      return "bf16_to_fnuz";
    case Conversion::kE4m3ToBf16:
      return "e4m3_to_bf16";
  }
  return "unknown";
}

absl::StatusOr<TensorPlan> MakePlan(const Layout& layout, std::int64_t rows,
                                    std::int64_t memory_row_bytes) {
  const std::int64_t extents[] = {rows, memory_row_bytes};
  const absl::StatusOr<BoundLayout> bound = Bind(layout, extents);
  if (!bound.ok()) return bound.status();
  absl::StatusOr<Packer> packer = Packer::Create(*bound);
  if (!packer.ok()) return packer.status();
  TensorPlan plan;
  plan.layout = layout;
  plan.packer = *std::move(packer);
  plan.shape = {rows, memory_row_bytes};
  plan.source_row_bytes = plan.row_bytes = memory_row_bytes;
  return plan;
}

TensorPlan SourceRowsOf(const TensorPlan& plan) {
  // Row-major order fits any extents.
  TensorPlan rows = *MakePlan(CatalogueLayout("plain"), plan.rows(), plan.source_row_bytes);
  rows.place = plan.place;
  return rows;
}

absl::StatusOr<RewriteCounts> RunPlanLeads(const TensorPlan& plan, const Sources& sources,
                                           const RunOptions& options, std::int64_t first,
                                           std::int64_t count, std::span<std::uint8_t> memory) {
  if (MovesCodeRows(plan) && first >= 0 && count >= 0 && count <= plan.packer.leads() - first &&
      std::ssize(memory) == count * plan.packer.lead_bytes() &&
      RunCodeRows(plan, sources, options, first, memory)) {
    return RewriteCounts();
  }
  if (first == 0) {
    if (absl::Status status = CheckPlaces(plan, sources); !status.ok()) return status;
  }
  FirstFault fault;
  std::atomic<std::int64_t> inexact = 0;
  RowSource source;
  source.valid_bytes = plan.row_bytes;
  source.padding = plan.padding;
  source.computed = IsComputed(plan.conversion);
  const bool direct = !source.computed && plan.agreeing_rows == 1;
  if (direct) {
    source.row = [&](std::int64_t row, std::uint8_t*) -> const std::uint8_t* {
      const RowPlace place = plan.place(row);
      return place.IsPadding() ? nullptr : At(sources, place);
    };
  } else {
    source.row = [&](std::int64_t row, std::uint8_t* scratch) -> const std::uint8_t* {
      const RowPlace place = plan.place(row);
      if (place.IsPadding()) return nullptr;
      CheckAgreement(plan, At(sources, place), row, &fault);
      if (!source.computed) return At(sources, place);
      ConvertRow(plan, sources, row, scratch, &inexact, &fault);
      return scratch;
    };
  }
  if (IsFromBf16(plan.conversion) && plan.agreeing_rows == 1) {
    source.code_elements = CodeElements(plan);
    source.bf16 = [&](std::int64_t row) -> Bf16Row {
      const RowPlace place = plan.place(row);
      if (place.IsPadding()) return {};
      return {At(sources, place), At(sources, plan.code_place(row))};
    };
  }
  PackOptions pack;
  pack.rewrite = RewriteOf(plan.conversion);
  pack.threads = options.threads;
  pack.stores = options.stores;
  absl::StatusOr<RewriteCounts> counts = plan.packer.PackLeads(source, pack, first, count, memory);
  if (!counts.ok()) return counts.status();
  if (inexact > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        CountInexact(plan, sources), " of ", DataRows(plan) * Elements(plan),
        " values are not e4m3 x scale; the first: ", AbslView(StdView(fault.status().message()))));
  }
  if (fault.any()) return fault.status();
  if (plan.refuse_nans && counts->nans > 0) {
    FirstFault nan;
    std::vector<std::uint8_t> scratch(plan.row_bytes);
    for (std::int64_t row = 0; row < plan.rows() && !nan.any(); ++row) {
      const std::uint8_t* bytes = source.row(row, scratch.data());
      if (bytes != nullptr) CheckNans(bytes, plan.row_bytes, row, &nan);
    }
    return nan.status();
  }
  return counts;
}

absl::StatusOr<RewriteCounts> RunPlan(const TensorPlan& plan, const Sources& sources,
                                      const RunOptions& options, std::span<std::uint8_t> memory) {
  if (plan.packer.leads() == 0) {
    if (absl::Status status = CheckPlaces(plan, sources); !status.ok()) return status;
  }
  return RunPlanLeads(plan, sources, options, 0, plan.packer.leads(), memory);
}

absl::Status RestorePlan(const TensorPlan& plan, std::span<const std::uint8_t> memory, int threads,
                         const Sinks& sinks) {
  if (MovesCodeRows(plan) && std::ssize(memory) == plan.bytes() &&
      RestoreCodeRows(plan, memory, threads, sinks)) {
    return absl::OkStatus();
  }
  if (absl::Status status = CheckPlaces(plan, sinks); !status.ok()) return status;
  if (!IsComputed(plan.conversion) && plan.agreeing_rows == 1) {
    const RowSink sink = {[&](std::int64_t row) -> std::uint8_t* {
                            const RowPlace place = plan.place(row);
                            return place.IsPadding() ? nullptr : At(sinks, place);
                          },
                          plan.row_bytes};
    return plan.packer.Unpack(memory, sink, threads);
  }
  // What is not done byte by byte is undone from a buffer: rows differ in width from their places,
  // and several may share one. The buffer holds a few leads where they are whole rows.
  const Packer& packer = plan.packer;
  const std::int64_t row_bytes = packer.layout().extent(1);
  const LeadRows lead_of = LeadRowsOf(packer);
  const std::int64_t lead_rows = lead_of.contiguous ? lead_of.rows : 0;
  const std::int64_t leads_at_once =
      lead_rows == 0 || std::ssize(memory) != plan.bytes()
          ? std::max<std::int64_t>(1, packer.leads())
          : std::clamp<std::int64_t>(
                kRestoredBytes / std::max<std::int64_t>(1, packer.lead_bytes()), 1, packer.leads());
  const bool streaming = Streams(PackOptions::Stores::kAuto, plan.bytes());
  FirstFault fault;
  if (leads_at_once >= packer.leads()) {
    std::vector<std::uint8_t> rows(plan.bytes());
    absl::Status status = packer.Unpack(memory, ContiguousSink(rows, row_bytes), threads);
    if (!status.ok()) return status;
    // Only rows of bf16 are sure to have places of their own.
    ParallelFor(plan.rows(), IsFromBf16(plan.conversion) ? threads : 1,
                [&](std::int64_t begin, std::int64_t end, int) {
                  for (std::int64_t row = begin; row < end; ++row) {
                    if (plan.place(row).IsPadding()) continue;
                    RestoreRow(plan, rows.data() + row * row_bytes, row, streaming, sinks, &fault);
                  }
                  if (streaming) StreamFence();
                });
    return fault.status();
  }
  ParallelFor(packer.leads(), IsFromBf16(plan.conversion) ? threads : 1,
              [&](std::int64_t begin, std::int64_t end, int) {
                std::vector<std::uint8_t> rows(leads_at_once * packer.lead_bytes());
                for (std::int64_t lead = begin; lead < end; lead += leads_at_once) {
                  const std::int64_t count = std::min(leads_at_once, end - lead);
                  const std::int64_t first_row = lead * lead_rows;
                  const RowSink sink = {
                      [&](std::int64_t row) { return rows.data() + (row - first_row) * row_bytes; },
                      plan.row_bytes};
                  // Every argument was checked above: it can't be refused.
                  const absl::Status status = packer.UnpackLeads(
                      memory.subspan(lead * packer.lead_bytes(), count * packer.lead_bytes()), lead,
                      count, sink, 1);
                  if (!status.ok()) {
                    fault.Add(first_row, std::string(AbslView(StdView(status.message()))));
                  }
                  for (std::int64_t row = first_row; row < first_row + count * lead_rows; ++row) {
                    if (plan.place(row).IsPadding()) continue;
                    RestoreRow(plan, rows.data() + (row - first_row) * row_bytes, row, streaming,
                               sinks, &fault);
                  }
                }
                if (streaming) StreamFence();
              });
  return fault.status();
}

absl::Status RestorePlanLeads(const TensorPlan& plan, std::span<const std::uint8_t> memory,
                              std::int64_t first, std::int64_t count, int threads,
                              const Sinks& sinks) {
  if (first == 0) {
    if (absl::Status status = CheckPlaces(plan, sinks); !status.ok()) return status;
  }
  if (!IsComputed(plan.conversion) && plan.agreeing_rows == 1) {
    const RowSink sink = {[&](std::int64_t row) -> std::uint8_t* {
                            const RowPlace place = plan.place(row);
                            return place.IsPadding() ? nullptr : At(sinks, place);
                          },
                          plan.row_bytes};
    return plan.packer.UnpackLeads(memory, first, count, sink, threads);
  }
  // What is not done byte by byte is undone from a buffer: rows differ in width from their places,
  // and several may share one.
  const LeadRows lead = LeadRowsOf(plan.packer);
  if (!lead.contiguous && count != plan.packer.leads()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "leads ", first, " .. ", first + count, " of ", plan.packer.leads(),
        ": rows of this layout are spread over all leads, which must be restored together"));
  }
  const std::int64_t row_begin = lead.contiguous ? first * lead.rows : 0;
  const std::int64_t row_end = lead.contiguous ? (first + count) * lead.rows : plan.rows();
  const std::int64_t row_bytes = plan.packer.layout().extent(1);
  std::vector<std::uint8_t> rows((row_end - row_begin) * row_bytes);
  const RowSink sink = {
      [&](std::int64_t row) { return rows.data() + (row - row_begin) * row_bytes; }, row_bytes};
  absl::Status status = plan.packer.UnpackLeads(memory, first, count, sink, threads);
  if (!status.ok()) return status;
  FirstFault fault;
  // Only rows of bf16 are sure to have places of their own.
  ParallelFor(row_end - row_begin, IsFromBf16(plan.conversion) ? threads : 1,
              [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t row = row_begin + begin; row < row_begin + end; ++row) {
                  if (plan.place(row).IsPadding()) continue;
                  RestoreRow(plan, rows.data() + (row - row_begin) * row_bytes, row,
                             /*streaming=*/false, sinks, &fault);
                }
              });
  return fault.status();
}

}  // namespace lanewise
