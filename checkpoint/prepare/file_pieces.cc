#include "checkpoint/prepare/file_pieces.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "checkpoint/files/text.h"
#include "checkpoint/prepare/output_metadata.h"
#include "checkpoint/prepare/sign_bits.h"
#include "weights/lead_rows.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

Sources SourcesOf(const TensorSet& set, const OutputTensor& output) {
  Sources sources;
  for (const std::string& name : output.sources) sources.push_back(set.Bytes(*set.Find(name)));
  return sources;
}

std::span<const std::uint8_t> BytesOf(const Sources& sources, const TouchedBytes& run) {
  return sources[run.source].subspan(run.begin, run.size());
}

std::int64_t PieceMemory(const TensorPlan& plan, const Sources& sources, std::int64_t first,
                         std::int64_t count) {
  return count * plan.packer.lead_bytes() + PageBytes(sources, TouchedByLeads(plan, first, count));
}

// What the signs of `count` leads take at most: of packed e2m1 a bit for each half of a byte, at
// addresses that double as they grow.
std::int64_t SignsMemory(const TensorPlan& plan, std::int64_t count) {
  return count * LeadRowsOf(plan.packer).rows * plan.source_row_bytes / 2;
}

}  // namespace

// How one tensor of the file is made, `units` times one after the other.
struct FilePieces::Feed {
  std::size_t tensor = 0;  // in the writer's order
  const OutputTensor* output = nullptr;
  bool signs = false;            // nothing but signs is taken: `tensor` are they
  std::size_t signs_tensor = 0;  // where the output's signs are taken on the way, else 0
  Sources sources;
  Sources files;                         // the mapping of each source's file
  std::span<const std::uint8_t> copied;  // of a copied tensor: all of it
  std::int64_t units = 0;                // leads, bytes copied, or rows whose signs are taken
  std::int64_t step = 1;                 // units of a piece
  std::int64_t next = 0;
  std::atomic<std::int64_t> negative_zeros = 0;
  SignBitsJoiner joiner;

  bool copies() const { return !signs && output->verbatim; }
};

std::int64_t LeastMemory(const TensorSet& source, const OutputTensor& output, bool lossless) {
  if (output.verbatim || output.plan.bytes() == 0) return 2 * kPageBlockBytes;
  const std::int64_t signs =
      lossless && DiscardsZeroSigns(output.plan) ? SignsMemory(output.plan, 1) : 0;
  return PieceMemory(output.plan, SourcesOf(source, output), 0, 1) + signs;
}

FilePieces::FilePieces(const PieceContext& context, const OutputFile& file, std::size_t lane,
                       std::size_t digest)
    : PiecedFile(file.path, context.rules, lane), context_(context), file_(file), digest_(digest) {}

FilePieces::~FilePieces() = default;

void FilePieces::AddFeed(std::size_t tensor, const OutputTensor& output, bool signs) {
  auto feed = std::make_unique<Feed>();
  feed->tensor = tensor;
  feed->output = &output;
  feed->signs = signs;
  const TensorSet& set = *context_.plan->source;
  feed->sources = SourcesOf(set, output);
  for (const std::string& name : output.sources) {
    feed->files.push_back(set.shards()[set.Find(name)->shard].file.file_bytes());
  }
  const TensorPlan& plan = output.plan;
  if (signs) {
    feed->units = plan.rows();
    feed->step = std::max<std::int64_t>(
        1, context_.piece_bytes / std::max<std::int64_t>(1, plan.source_row_bytes));
  } else if (output.verbatim) {
    const int source = plan.place == nullptr ? 0 : plan.place(0).source;
    feed->copied = feed->sources[source];
    std::swap(feed->files[0], feed->files[source]);
    feed->units = std::ssize(feed->copied);
    feed->step = context_.piece_bytes;
  } else if (plan.bytes() > 0) {
    feed->units = plan.packer.leads();
    const std::int64_t read =
        LeadRowsOf(plan.packer).rows * plan.agreeing_rows * plan.source_row_bytes;
    feed->step = std::max<std::int64_t>(
        1, context_.piece_bytes / std::max<std::int64_t>({1, plan.packer.lead_bytes(), read}));
  }
  total_ += feed->units > 0 ? (feed->units + feed->step - 1) / feed->step : 0;
  feeds_.push_back(std::move(feed));
}

// Signs are taken with the rows that they are of, where those come in order: so the source is read
// once.
void FilePieces::AddSigns(std::size_t tensor, const OutputTensor& of) {
  const auto feed = std::find_if(feeds_.begin(), feeds_.end(),
                                 [&](const auto& one) { return one->output == &of; });
  if ((*feed)->units > 0 && LeadRowsOf(of.plan.packer).contiguous) {
    (*feed)->signs_tensor = tensor;
    return;
  }
  // In the order of the outputs, which is that of their signs in the file.
  const auto after = feed - feeds_.begin() + 1;
  AddFeed(tensor, of, /*signs=*/true);
  std::rotate(feeds_.begin() + after, feeds_.end() - 1, feeds_.end());
}

absl::Status FilePieces::Begin() {
  std::size_t tensor = 0;
  for (const OutputTensor* output : file_.outputs) AddFeed(tensor++, *output, /*signs=*/false);
  for (const ExtraTensor& extra : file_.extras) {
    if (extra.kind == ExtraTensor::Kind::kZeroSigns) {
      AddSigns(tensor, *extra.of);
    } else if (extra.kind == ExtraTensor::Kind::kOriginal) {
      AddFeed(tensor, extra.output, /*signs=*/false);
    }
    ++tensor;
  }
  // Places are checked before any of them is touched.
  for (const std::unique_ptr<Feed>& feed : feeds_) {
    if (feed->copies()) continue;
    const TensorPlan& plan = feed->output->plan;
    const absl::Status status = CheckPlaces(plan, SizesOf(feed->sources), {0, plan.rows()});
    if (!status.ok()) return OfTensor(feed->output->tensor.stored.name, status);
  }
  absl::StatusOr<PreparedWriter> writer =
      PreparedWriter::Create(file_.path, AboutFile(*context_.plan, file_), TensorsOf(file_));
  if (!writer.ok()) return writer.status();
  writer_ = std::make_unique<PreparedWriter>(*std::move(writer));
  return absl::OkStatus();
}

std::optional<Piece> FilePieces::NextOfContents() {
  while (at_ < feeds_.size() && feeds_[at_]->next == feeds_[at_]->units) ++at_;
  if (at_ == feeds_.size()) {
    context_.digests->Allow(digest_, 1);
    return std::nullopt;
  }
  Piece piece;
  Feed* const feed = feeds_[at_].get();
  const std::int64_t first = feed->next;
  const std::int64_t count = std::min(feed->step, feed->units - first);
  feed->next += count;
  context_.digests->Allow(digest_, static_cast<double>(dealt_++) / static_cast<double>(total_));
  if (feed->signs) {
    piece.memory =
        context_.piece_bytes / 4 +
        PageBytes(feed->sources, TouchedByRows(feed->output->plan, first, first + count));
    piece.work = [=, this] { return Signs(feed, first, count); };
  } else if (feed->copies()) {
    piece.memory = count + kPageBlockBytes;
    piece.work = [=, this] { return Copy(feed, first, count); };
  } else {
    piece.memory = PieceMemory(feed->output->plan, feed->sources, first, count);
    if (feed->signs_tensor != 0) piece.memory += SignsMemory(feed->output->plan, count);
    piece.work = [=, this] { return Pack(feed, first, count); };
  }
  return piece;
}

// `after` holds what `bytes` lie in.
Rest FilePieces::WriteThenDigest(const Feed& feed, std::int64_t offset,
                                 std::span<const std::uint8_t> bytes,
                                 std::function<absl::Status()> after) {
  return Rest([=, this, &feed] { return writer_->WriteUndigested(feed.tensor, offset, bytes); },
              [=, this, &feed, after = std::move(after)] {
                Digest(feed, offset, bytes);
                return after();
              });
}

void FilePieces::Digest(const Feed& feed, std::int64_t offset,
                        std::span<const std::uint8_t> bytes) {
  writer_->Digest(feed.tensor, offset, bytes);
  bytes_ += std::ssize(bytes);
  if (context_.wrote) context_.wrote(std::ssize(bytes));
}

void FilePieces::Pass(const Feed& feed, std::span<const TouchedBytes> touched) {
  for (const TouchedBytes& run : touched) {
    context_.passed->Add(feed.files[run.source], BytesOf(feed.sources, run));
  }
}

absl::StatusOr<Rest> FilePieces::Pack(Feed* feed, std::int64_t first, std::int64_t count) {
  const TensorPlan& plan = feed->output->plan;
  const std::int64_t bytes = count * plan.packer.lead_bytes();
  const std::vector<TouchedBytes> touched = TouchedByLeads(plan, first, count);
  const std::int64_t wanted = count * LeadRowsOf(plan.packer).rows * plan.source_row_bytes;
  for (const TouchedBytes& run : touched) {
    // Rows that lie far apart are better brought one by one.
    if (run.size() <= 2 * wanted) PopulatePages(BytesOf(feed->sources, run));
  }
  const std::shared_ptr<std::uint8_t> buffer = context_.buffers->Get(bytes);
  const std::span<std::uint8_t> memory(buffer.get(), static_cast<std::size_t>(bytes));
  // The bytes go to the file at once: they had better stay in the cache.
  const absl::StatusOr<RewriteCounts> counts =
      RunPlanLeads(plan, feed->sources, {1, PackOptions::Stores::kCached}, first, count, memory);
  std::shared_ptr<ZeroSignBits> signs;
  if (counts.ok() && feed->signs_tensor != 0) {
    const std::int64_t rows = LeadRowsOf(plan.packer).rows;
    signs = std::make_shared<ZeroSignBits>(ZeroSignsOfRows(
        plan, feed->sources, first * rows, std::min(plan.rows(), (first + count) * rows)));
  }
  Pass(*feed, touched);
  if (!counts.ok()) return OfTensor(feed->output->tensor.stored.name, counts.status());
  feed->negative_zeros += counts->negative_zeros;
  const std::int64_t offset = first * plan.packer.lead_bytes();
  const bool last = first + count == feed->units;
  return WriteThenDigest(*feed, offset, memory, [this, feed, buffer, signs, last] {
    return signs == nullptr ? absl::OkStatus() : AppendSigns(feed, *signs, last);
  });
}

absl::StatusOr<Rest> FilePieces::Copy(Feed* feed, std::int64_t first, std::int64_t count) {
  const std::span<const std::uint8_t> bytes = feed->copied.subspan(first, count);
  PopulatePages(bytes);
  return WriteThenDigest(*feed, first, bytes, [=, this] {
    context_.passed->Add(feed->files[0], bytes);
    return absl::OkStatus();
  });
}

absl::StatusOr<Rest> FilePieces::Signs(Feed* feed, std::int64_t first, std::int64_t count) {
  const TensorPlan& plan = feed->output->plan;
  auto bits =
      std::make_shared<ZeroSignBits>(ZeroSignsOfRows(plan, feed->sources, first, first + count));
  Pass(*feed, TouchedByRows(plan, first, first + count));
  const bool last = first + count == feed->units;
  return Commit([this, feed, bits, last] { return AppendSigns(feed, *bits, last); });
}

absl::Status FilePieces::AppendSigns(Feed* feed, const ZeroSignBits& bits, bool last) {
  const std::vector<std::uint8_t> whole = feed->joiner.Join(bits, last);
  bytes_ += std::ssize(whole);
  return writer_->Append(feed->signs ? feed->tensor : feed->signs_tensor, whole);
}

absl::Status FilePieces::Complete() {
  for (const std::unique_ptr<Feed>& feed : feeds_) {
    if (feed->signs || feed->output->tensor.late.empty()) continue;
    absl::Status status =
        writer_->SetParam(feed->tensor, kNegativeZerosParam, feed->negative_zeros);
    if (!status.ok()) return status;
  }
  absl::Status status = writer_->SetSourceDigest(0, context_.digests->Wait(digest_));
  if (!status.ok()) return status;
  return context_.plan->source->CheckUnchanged();
}

absl::Status FilePieces::Name() {
  absl::Status status = writer_->Finish();
  if (status.ok()) writer_.reset();
  return status;
}

std::int64_t FilePieces::negative_zeros() const {
  std::int64_t count = 0;
  for (const std::unique_ptr<Feed>& feed : feeds_) count += feed->negative_zeros;
  return count;
}

}  // namespace lanewise
