#include "checkpoint/restore/restore_part.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/files/text.h"
#include "checkpoint/prepare/kept_metadata.h"
#include "weights/lead_rows.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

// The bytes that a row stands for, or -1 where the rows that agree with it do not follow it.
std::int64_t RowBytes(const TensorPlan& plan) {
  if (plan.agreeing_rows > 1 && plan.agreeing_stride != plan.source_row_bytes) return -1;
  return plan.agreeing_rows * plan.source_row_bytes;
}

bool SamePlaces(const TensorPlan& a, const TensorPlan& b) {
  if (a.rows() != b.rows() || a.source_row_bytes != b.source_row_bytes) return false;
  for (const std::int64_t row : {std::int64_t{0}, a.rows() - 1}) {
    if (row < 0) continue;
    const RowPlace in_a = a.place(row), in_b = b.place(row);
    if (in_a.source != in_b.source || in_a.offset != in_b.offset) return false;
  }
  return true;
}

// Whole blocks, wherever the bytes begin.
std::int64_t Blocks(std::int64_t bytes) {
  return (bytes + kPageBlockBytes - 1) / kPageBlockBytes * kPageBlockBytes + kPageBlockBytes;
}

}  // namespace

StoredBytes StoredBytes::Of(const RestoreRank& rank, const std::string& name) {
  StoredBytes stored;
  stored.name = name;
  stored.prepared = rank.prepared.get();
  if (const TensorSet::Tensor* tensor = rank.prepared->set().Find(name)) {
    stored.bytes = rank.prepared->set().Bytes(*tensor);
    stored.mapping = rank.prepared->set().shards()[tensor->shard].file.file_bytes();
  }
  return stored;
}

absl::StatusOr<std::vector<std::unique_ptr<RestorePart>>> RestorePart::Of(
    const RestoreJob& job, std::size_t file, std::span<const RankOutput> outputs) {
  std::vector<std::unique_ptr<RestorePart>> parts;
  // Ranks that hold the same bytes: the first gives them.
  std::vector<RankOutput> holders;
  for (const RankOutput& one : outputs) {
    const bool repeats = std::any_of(holders.begin(), holders.end(), [&](const RankOutput& other) {
      return one.output->verbatim || SamePlaces(one.output->plan, other.output->plan);
    });
    if (!repeats) {
      holders.push_back(one);
      continue;
    }
    absl::StatusOr<std::unique_ptr<RestorePart>> part = Make(job, file, {&one, 1});
    if (!part.ok()) return part.status();
    (*part)->checks_only_ = true;
    (*part)->units_ = std::ssize((*part)->members_[0].stored.bytes);
    (*part)->passes_all_ = true;
    parts.push_back(*std::move(part));
  }
  std::vector<std::unique_ptr<RestorePart>> alone;
  bool fill = true;
  for (const RankOutput& one : holders) {
    absl::StatusOr<std::unique_ptr<RestorePart>> part = Make(job, file, {&one, 1});
    if (!part.ok()) return part.status();
    fill = fill && ((*part)->copies_ || (*part)->PiecesFillRuns());
    alone.push_back(*std::move(part));
  }
  if (fill) {
    std::move(alone.begin(), alone.end(), std::back_inserter(parts));
    return parts;
  }
  absl::StatusOr<std::unique_ptr<RestorePart>> together = Make(job, file, holders);
  if (!together.ok()) return together.status();
  (*together)->whole_ = !(*together)->PiecesFillRuns();
  parts.push_back(*std::move(together));
  return parts;
}

absl::StatusOr<std::unique_ptr<RestorePart>> RestorePart::Make(
    const RestoreJob& job, std::size_t file, std::span<const RankOutput> outputs) {
  std::unique_ptr<RestorePart> part(new RestorePart());
  part->job_ = &job;
  part->file_ = file;
  part->file_offset_ = std::numeric_limits<std::int64_t>::max();
  const OutputTensor& first = *outputs[0].output;
  part->sources_ = first.sources;
  bool all_here = true, signs = false;
  for (const std::string& source : part->sources_) {
    part->source_bytes_.push_back(job.PlaceOf(source).bytes);
    part->in_file_.push_back(job.PlaceOf(source).file == file);
  }
  for (const std::size_t source : HeldSources(first)) {
    all_here = all_here && part->in_file_[source];
    if (!part->in_file_[source]) continue;
    const std::size_t tensor = job.PlaceOf(part->sources_[source]).tensor;
    part->file_offset_ = std::min(part->file_offset_, job.files()[file].tensors[tensor].begin);
  }
  for (const RankOutput& of : outputs) {
    const std::string& name = of.name();
    part->members_.emplace_back();
    PartMember& member = part->members_.back();
    member.of = of;
    member.plan = of.output->plan;
    member.stored = StoredBytes::Of(*of.rank, name);
    if (of.output->verbatim) continue;
    if (StoredBytes original = StoredBytes::Of(*of.rank, OriginalName(name));
        original.prepared->set().Find(original.name) != nullptr) {
      member.plan = SourceRowsOf(of.output->plan);
      member.stored = std::move(original);
    } else if (DiscardsZeroSigns(member.plan)) {
      member.signs = StoredBytes::Of(*of.rank, ZeroSignsName(name));
      signs = signs || !member.signs.bytes.empty();
    }
    if (member.stored.bytes.size() != static_cast<std::size_t>(member.plan.bytes())) {
      return OfTensor(member.stored.name,
                      absl::DataLossError(absl::StrCat("it has ", member.stored.bytes.size(),
                                                       " bytes, expected ", member.plan.bytes())));
    }
  }
  part->copies_ = first.verbatim;
  if (part->copies_) {
    part->copied_source_ = static_cast<int>(HeldSources(first)[0]);
    part->units_ = std::ssize(part->members_[0].stored.bytes);
    if (part->units_ != part->source_bytes_[part->copied_source_]) {
      return OfTensor(first.tensor.stored.name,
                      absl::DataLossError("its size is not its source's"));
    }
    return part;
  }
  // Where zeros are counted, all that come before have to be.
  part->passes_all_ = all_here || signs;
  const TensorPlan& plan = part->members_[0].plan;
  part->units_ = plan.packer.leads();
  if (plan.code_place != nullptr && plan.rows() > 0) {
    part->codes_source_ = plan.code_place(0).source;
  }
  if (absl::Status status = part->CheckPlaces(); !status.ok()) {
    return OfTensor(first.tensor.stored.name, status);
  }
  return part;
}

absl::Status RestorePart::CheckPlaces() const {
  for (const PartMember& member : members_) {
    const RowRange all = {0, member.plan.rows()};
    LANEWISE_RETURN_IF_ERROR(lanewise::CheckPlaces(member.plan, source_bytes_, all));
  }
  return absl::OkStatus();
}

void RestorePart::FindRows(std::int64_t first, std::int64_t count, std::int64_t* begin,
                           std::int64_t* end) const {
  const TensorPlan& plan = members_[0].plan;
  const LeadRows lead = LeadRowsOf(plan.packer);
  *begin = lead.contiguous && !whole_ ? first * lead.rows : 0;
  *end = lead.contiguous && !whole_ ? (first + count) * lead.rows : plan.rows();
}

std::vector<SourceRun> RestorePart::Runs(std::int64_t first, std::int64_t count) const {
  if (copies_) return {{copied_source_, first, first + count, true}};
  std::int64_t begin = 0, end = 0;
  FindRows(first, count, &begin, &end);
  std::vector<SourceRun> runs;
  for (const PartMember& member : members_) {
    const TensorPlan& plan = member.plan;
    for (std::int64_t row = begin; row < end; ++row) {
      const RowPlace place = plan.place(row);
      if (place.IsPadding()) continue;
      if (!in_file_[place.source] && !passes_all_) continue;
      const std::int64_t last = place.offset + plan.source_extent();
      // Rows come in order, of few sources at a time: the last ones are the likeliest.
      const auto known = std::find_if(runs.rbegin(), runs.rend(), [&](const SourceRun& run) {
        return run.source == place.source;
      });
      if (known == runs.rend()) {
        runs.push_back({place.source, place.offset, last, in_file_[place.source]});
      } else {
        known->begin = std::min(known->begin, place.offset);
        known->end = std::max(known->end, last);
      }
    }
  }
  return runs;
}

// Whether every piece of one lead fills all bytes of its runs, once. Pieces of several leads then
// do too, unless something lies between two leads, which the sum over all of them tells.
bool RestorePart::PiecesFillRuns() const {
  const TensorPlan& first = members_[0].plan;
  const LeadRows lead = LeadRowsOf(first.packer);
  for (const PartMember& member : members_) {
    const TensorPlan& plan = member.plan;
    const LeadRows same = LeadRowsOf(plan.packer);
    if (plan.packer.leads() != first.packer.leads() || !same.contiguous || same.rows != lead.rows ||
        RowBytes(plan) < 0) {
      return false;
    }
  }
  const auto filled = [&](std::int64_t row) {
    std::int64_t bytes = 0;
    for (const PartMember& member : members_) {
      const RowPlace place = member.plan.place(row);
      if (place.IsPadding() || (!in_file_[place.source] && !passes_all_)) continue;
      bytes += RowBytes(member.plan);
    }
    return bytes;
  };
  std::int64_t all = 0;
  std::vector<SourceRun> whole;
  for (std::int64_t i = 0; i < units_; ++i) {
    std::int64_t bytes = 0;
    for (std::int64_t row = i * lead.rows; row < (i + 1) * lead.rows; ++row) bytes += filled(row);
    for (const SourceRun& run : Runs(i, 1)) {
      bytes -= run.size();
      all += run.size();
      const auto known = std::find_if(whole.begin(), whole.end(), [&](const SourceRun& other) {
        return other.source == run.source;
      });
      if (known == whole.end()) {
        whole.push_back(run);
      } else {
        known->begin = std::min(known->begin, run.begin);
        known->end = std::max(known->end, run.end);
      }
    }
    if (bytes != 0) return false;
  }
  for (const SourceRun& run : whole) all -= run.size();
  return all == 0;
}

bool RestorePart::HasSigns() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const PartMember& member) { return !member.signs.bytes.empty(); });
}

std::int64_t RestorePart::Step(std::int64_t bytes) const {
  if (copies_ || checks_only_) return std::max<std::int64_t>(1, bytes);
  if (whole_ || !LeadRowsOf(members_[0].plan.packer).contiguous) {
    return std::max<std::int64_t>(1, units_);
  }
  std::int64_t lead_bytes = 0;
  for (const PartMember& member : members_) lead_bytes += member.plan.packer.lead_bytes();
  return std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, lead_bytes));
}

std::int64_t RestorePart::PieceMemory(std::int64_t first, std::int64_t count) const {
  if (copies_ || checks_only_) return count + kPageBlockBytes;
  std::int64_t memory = std::ssize(codes_);
  if (codes_source_ >= 0) memory = source_bytes_[codes_source_];
  for (const PartMember& member : members_) {
    const std::int64_t stored = count * member.plan.packer.lead_bytes();
    memory += Blocks(stored);
    const bool computed = TraitsOf(member.plan.conversion).computed;
    if (computed || member.plan.agreeing_rows > 1) memory += stored;
  }
  for (const SourceRun& run : Runs(first, count)) memory += run.size();
  return memory;
}

// The plan with rows [begin, end) where `runs` begin, and all others as if they were padding.
TensorPlan RestorePart::Moved(const PartMember& member, std::int64_t begin, std::int64_t end,
                              std::span<const SourceRun> runs) const {
  TensorPlan moved = member.plan;
  std::vector<std::int64_t> offset(sources_.size(), -1);
  for (const SourceRun& run : runs) offset[run.source] = run.begin;
  moved.place = [&plan = member.plan, begin, end, offset](std::int64_t row) {
    if (row < begin || row >= end) return RowPlace::Padding();
    const RowPlace place = plan.place(row);
    if (place.IsPadding() || offset[place.source] < 0) return RowPlace::Padding();
    return RowPlace{place.source, place.offset - offset[place.source]};
  };
  return moved;
}

absl::Status RestorePart::ReadCodes() {
  codes_.resize(static_cast<std::size_t>(source_bytes_[codes_source_]));
  const std::string& name = sources_[codes_source_];
  for (const std::unique_ptr<RestoreRank>& rank : job_->ranks()) {
    for (const OutputTensor& output : rank->preparation.outputs) {
      const std::vector<std::size_t> held = HeldSources(output);
      if (held.size() != 1 || output.sources[held[0]] != name) continue;
      const StoredBytes stored = StoredBytes::Of(*rank, output.tensor.stored.name);
      if (absl::Status status = rank->prepared->Verify(stored.name); !status.ok()) return status;
      if (output.verbatim && stored.bytes.size() == codes_.size()) {
        std::copy(stored.bytes.begin(), stored.bytes.end(), codes_.begin());
      } else if (!output.verbatim) {
        Sinks sinks(output.sources.size());
        sinks[held[0]] = codes_;
        absl::Status status = RestorePlan(output.plan, stored.bytes, 1, sinks);
        if (!status.ok()) return OfTensor(stored.name, status);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status RestorePart::Fill(std::int64_t first, std::int64_t count,
                               std::span<const SourceRun> runs,
                               std::span<const std::span<std::uint8_t>> sinks) {
  if (codes_source_ >= 0) {
    std::call_once(codes_once_, [this] { codes_status_ = ReadCodes(); });
    if (!codes_status_.ok()) return codes_status_;
  }
  std::int64_t begin = 0, end = 0;
  FindRows(first, count, &begin, &end);
  Sinks spans(sources_.size());
  for (std::size_t i = 0; i < runs.size(); ++i) spans[runs[i].source] = sinks[i];
  if (codes_source_ >= 0) spans[codes_source_] = codes_;
  for (const PartMember& member : members_) {
    const std::int64_t lead_bytes = member.plan.packer.lead_bytes();
    const auto stored = member.stored.bytes.subspan(first * lead_bytes, count * lead_bytes);
    PopulatePages(stored);
    const TensorPlan moved = Moved(member, begin, end, runs);
    absl::Status status = RestorePlanLeads(moved, stored, first, count, 1, spans);
    if (!status.ok()) return OfTensor(member.stored.name, status);
  }
  return absl::OkStatus();
}

absl::Status RestorePart::ApplySigns(std::int64_t first, std::int64_t count,
                                     std::span<const SourceRun> runs,
                                     std::span<const std::span<std::uint8_t>> sinks) {
  std::int64_t begin = 0, end = 0;
  FindRows(first, count, &begin, &end);
  Sinks spans(sources_.size());
  for (std::size_t i = 0; i < runs.size(); ++i) spans[runs[i].source] = sinks[i];
  for (PartMember& member : members_) {
    if (member.signs.bytes.empty()) continue;
    const std::int64_t before = member.zeros;
    const TensorPlan moved = Moved(member, begin, end, runs);
    member.zeros +=
        ApplyZeroSignsToRows(moved, member.signs.bytes, member.zeros, begin, end, spans);
    const std::int64_t size = std::ssize(member.signs.bytes);
    const std::int64_t from = std::min(size, before / 8);
    const std::int64_t to = std::min(size, (member.zeros + 7) / 8);
    ReleasePages(member.signs.mapping, member.signs.bytes.subspan(from, to - from));
    if (first + count < units_) continue;
    absl::Status status = CheckZeroSigns(member.signs.bytes, member.zeros);
    if (!status.ok()) return OfTensor(member.signs.name, status);
  }
  return absl::OkStatus();
}

}  // namespace lanewise
