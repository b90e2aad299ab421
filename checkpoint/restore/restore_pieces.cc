#include "checkpoint/restore/restore_pieces.h"

#include <algorithm>
#include <map>
#include <span>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/digest_of_pages.h"
#include "checkpoint/files/text.h"
#include "checkpoint/prepare/kept_metadata.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

using Parts = std::vector<std::unique_ptr<RestorePart>>;

// Tensors of the same name, one a rank, belong together. In the order of their bytes in the file.
absl::StatusOr<Parts> PartsOf(const RestoreJob& job, std::size_t file) {
  std::map<std::string, std::vector<RankOutput>> by_name;
  for (const RankOutput& output : job.files()[file].outputs) {
    by_name[output.name()].push_back(output);
  }
  Parts all;
  for (const auto& [name, outputs] : by_name) {
    absl::StatusOr<Parts> parts = RestorePart::Of(job, file, outputs);
    if (!parts.ok()) return parts.status();
    std::move(parts->begin(), parts->end(), std::back_inserter(all));
  }
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) order.emplace_back(all[i]->file_offset(), i);
  std::sort(order.begin(), order.end());
  Parts in_order;
  for (const auto& [offset, i] : order) in_order.push_back(std::move(all[i]));
  return in_order;
}

// What a tensor that is digested for itself holds of its pages.
constexpr std::int64_t kScanBytes = 2 * kPageBlockBytes;

absl::Status Scan(const StoredBytes& stored) {
  return stored.prepared->CheckDigest(stored.name, DigestOfPages(stored.mapping, stored.bytes));
}

}  // namespace

RestoreLosses LossesOf(const RankOutput& output) {
  RestoreLosses losses;
  if (output.output->verbatim) return losses;
  const PreparedCheckpoint& prepared = *output.rank->prepared;
  const TensorPlan& plan = output.output->plan;
  const std::string& name = output.name();
  if (TraitsOf(plan.conversion).loss == Loss::kValues) {
    losses.dequantized = prepared.set().Find(OriginalName(name)) == nullptr;
  } else if (DiscardsZeroSigns(plan) && prepared.set().Find(ZeroSignsName(name)) == nullptr) {
    losses.zero_signs = prepared.Describe(name)->IntParam(kNegativeZerosParam).value_or(0);
  }
  return losses;
}

absl::StatusOr<RestoreNeed> LeastMemory(const RestoreJob& job, std::size_t file) {
  RestoreNeed need = {kScanBytes + kPageBlockBytes, ""};
  const absl::StatusOr<Parts> parts = PartsOf(job, file);
  if (!parts.ok()) return parts.status();
  for (const std::unique_ptr<RestorePart>& part : *parts) {
    const std::int64_t bytes = part->PieceMemory(0, std::min(part->units(), part->Step(1)));
    if (bytes > need.bytes) need = {bytes, part->members()[0].of.name()};
  }
  return need;
}

// Runs in one buffer, one after the other.
struct RestorePieces::Filled {
  std::shared_ptr<std::uint8_t> buffer;
  std::vector<SourceRun> runs;
  std::vector<std::span<std::uint8_t>> sinks;
};

RestorePieces::RestorePieces(RestoreContext* context, std::size_t file, std::size_t lane)
    : PiecedFile(context->job->files()[file].path, context->rules, lane),
      context_(*context),
      file_(file) {}

RestorePieces::~RestorePieces() = default;

absl::Status RestorePieces::Begin() {
  absl::StatusOr<Parts> parts = PartsOf(*context_.job, file_);
  if (!parts.ok()) return parts.status();
  parts_ = *std::move(parts);
  const auto scan = [&](const StoredBytes& stored) {
    if (stored.prepared == nullptr || stored.prepared->set().Find(stored.name) == nullptr) return;
    if (context_.digested.insert({stored.prepared, stored.name}).second) scans_.push_back(stored);
  };
  for (const std::unique_ptr<RestorePart>& part : parts_) {
    for (const PartMember& member : part->members()) {
      const RestoreLosses losses = LossesOf(member.of);
      losses_.zero_signs += losses.zero_signs;
      losses_.dequantized = losses_.dequantized || losses.dequantized;
      if (!part->passes_all()) scan(member.stored);
      // An original is restored instead of the tensor that was made from it.
      if (member.stored.name != member.of.name()) {
        scan(StoredBytes::Of(*member.of.rank, member.of.name()));
      }
      scan(member.signs);
    }
  }
  absl::StatusOr<SafetensorsWriter> writer =
      SafetensorsWriter::CreateWithHeader(file().path, file().header_text);
  if (!writer.ok()) return writer.status();
  writer_ = std::make_unique<SafetensorsWriter>(*std::move(writer));
  digest_ = std::make_unique<WrittenDigest>(*writer_, file().header_text);
  return absl::OkStatus();
}

std::optional<Piece> RestorePieces::NextOfContents() {
  if (scan_ < scans_.size()) return ScanPiece(scans_[scan_++]);
  for (; part_ < parts_.size(); ++part_, next_ = 0) {
    RestorePart* const part = parts_[part_].get();
    while (next_ < part->units()) {
      const std::int64_t first = next_;
      const std::int64_t count = std::min(part->Step(context_.piece_bytes), part->units() - first);
      next_ += count;
      if (part->checks_only()) return CheckPiece(part, first, count);
      // Of a tensor that several files hold parts of, leads of the others are passed over.
      if (!part->passes_all() && part->Runs(first, count).empty()) continue;
      return RowsPiece(part, first, count);
    }
  }
  return std::nullopt;
}

Piece RestorePieces::ScanPiece(const StoredBytes& stored) {
  Piece piece;
  piece.memory = kScanBytes + kPageBlockBytes;
  piece.work = [&stored]() -> absl::StatusOr<Rest> {
    if (absl::Status status = Scan(stored); !status.ok()) return status;
    return Commit([] { return absl::OkStatus(); });
  };
  return piece;
}

Piece RestorePieces::CheckPiece(RestorePart* part, std::int64_t first, std::int64_t count) {
  Piece piece;
  piece.memory = part->PieceMemory(first, count);
  piece.work = [this, part, first, count]() -> absl::StatusOr<Rest> {
    PopulatePages(part->members()[0].stored.bytes.subspan(first, count));
    return Commit([this, part, first, count] { return DigestStored(part, first, count); });
  };
  return piece;
}

Piece RestorePieces::RowsPiece(RestorePart* part, std::int64_t first, std::int64_t count) {
  Piece piece;
  piece.memory = part->PieceMemory(first, count);
  if (part->copies()) {
    piece.work = [=, this] { return Copy(part, first, count); };
  } else {
    piece.work = [=, this] { return Fill(part, first, count, part->Runs(first, count)); };
  }
  return piece;
}

absl::StatusOr<Rest> RestorePieces::Copy(RestorePart* part, std::int64_t first,
                                         std::int64_t count) {
  const auto bytes = part->members()[0].stored.bytes.subspan(first, count);
  PopulatePages(bytes);
  const SourceRun run = part->Runs(first, count)[0];
  const std::size_t tensor = context_.job->PlaceOf(part->source(run.source)).tensor;
  return Rest([=, this] { return writer_->Write(tensor, first, bytes); },
              [=, this] {
                digest_->Wrote(tensor, first, bytes);
                if (context_.wrote) context_.wrote(count);
                return DigestStored(part, first, count);
              });
}

absl::StatusOr<Rest> RestorePieces::Fill(RestorePart* part, std::int64_t first, std::int64_t count,
                                         std::vector<SourceRun> runs) {
  auto filled = std::make_shared<Filled>();
  std::int64_t bytes = 0;
  for (const SourceRun& run : runs) bytes += (run.size() + 63) / 64 * 64;
  filled->buffer = context_.buffers->Get(bytes);
  std::uint8_t* at = filled->buffer.get();
  for (const SourceRun& run : runs) {
    filled->sinks.emplace_back(at, static_cast<std::size_t>(run.size()));
    at += (run.size() + 63) / 64 * 64;
  }
  filled->runs = std::move(runs);
  absl::Status status = part->Fill(first, count, filled->runs, filled->sinks);
  if (!status.ok()) {
    // Wrong bytes explain whatever else went wrong.
    for (const PartMember& member : part->members()) {
      if (absl::Status wrong = Scan(member.stored); !wrong.ok()) return wrong;
    }
    return status;
  }
  const auto write = [this, part, filled] { return Write(*part, *filled); };
  const auto digest = [this, part, first, count, filled] {
    DigestFilled(*part, *filled);
    return DigestStored(part, first, count);
  };
  if (!part->HasSigns()) return Rest(write, digest);
  // Which signs are a piece's follows from the zeros of all before it.
  return Commit([part, first, count, filled, write, digest] {
    absl::Status status = part->ApplySigns(first, count, filled->runs, filled->sinks);
    if (status.ok()) status = write();
    return status.ok() ? digest() : status;
  });
}

absl::Status RestorePieces::Write(const RestorePart& part, const Filled& filled) {
  for (std::size_t i = 0; i < filled.runs.size(); ++i) {
    const SourceRun& run = filled.runs[i];
    if (!run.wanted) continue;
    const RestoreJob::Place& place = context_.job->PlaceOf(part.source(run.source));
    absl::Status status = writer_->Write(place.tensor, run.begin, filled.sinks[i]);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void RestorePieces::DigestFilled(const RestorePart& part, const Filled& filled) {
  for (std::size_t i = 0; i < filled.runs.size(); ++i) {
    const SourceRun& run = filled.runs[i];
    if (!run.wanted) continue;
    const RestoreJob::Place& place = context_.job->PlaceOf(part.source(run.source));
    digest_->Wrote(place.tensor, run.begin, filled.sinks[i]);
    if (context_.wrote) context_.wrote(run.size());
  }
}

// After the piece's last use of the stored bytes.
absl::Status RestorePieces::DigestStored(RestorePart* part, std::int64_t first,
                                         std::int64_t count) {
  const bool last = first + count == part->units();
  for (PartMember& member : part->members()) {
    const std::int64_t unit =
        part->copies() || part->checks_only() ? 1 : member.plan.packer.lead_bytes();
    const auto bytes = member.stored.bytes.subspan(first * unit, count * unit);
    if (part->passes_all()) member.digest.Update(bytes);
    context_.passed->Add(member.stored.mapping, bytes);
    if (!last || !part->passes_all()) continue;
    absl::Status status =
        member.stored.prepared->CheckDigest(member.stored.name, member.digest.Hex());
    if (!status.ok()) return status;
  }
  return last ? digest_->CatchUp() : absl::OkStatus();
}

absl::Status RestorePieces::Complete() {
  // Tensors without any leads have no pieces.
  if (absl::Status status = digest_->CatchUp(); !status.ok()) return status;
  if (absl::Status status = writer_->CheckComplete(); !status.ok()) return status;
  exact_ = digest_->Hex() == file().digest;
  if (!exact_ && !losses_.any()) {
    return absl::DataLossError(
        absl::StrCat(file().path,
                     " would not be the source file it was prepared from, and nothing that "
                     "preparing discards explains it: the prepared files do not belong together"));
  }
  for (const std::unique_ptr<RestoreRank>& rank : context_.job->ranks()) {
    if (absl::Status status = rank->prepared->set().CheckUnchanged(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RestorePieces::Name() {
  if (absl::Status status = writer_->Finish(); !status.ok()) return status;
  digest_.reset();
  writer_.reset();
  return absl::OkStatus();
}

}  // namespace lanewise
