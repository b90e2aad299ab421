#include "weights/packer.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weights/block_kernels.h"
#include "weights/parallel.h"

namespace lanewise {
namespace {

// Small enough for any L1 cache beside the rows it is made from, and long enough for a row of a
// 16-row tile to be read by the page's neighbouring lines.
constexpr std::int64_t kTargetBlockBytes = 8 * 1024;
// Of 16 rows, 256 bytes of each: as much as it takes for lines of one row to follow each other, and
// no more memory than a page.
constexpr std::int64_t kTargetInverseBytes = 4 * 1024;

struct BlockBase {
  std::int64_t row = 0;
  std::int64_t byte = 0;
  std::int64_t memory = 0;
};

// The blocks of a plan one after the other, from one to another's end.
class BlockWalk {
 public:
  BlockWalk(const RegionPlan& plan, std::int64_t index, std::int64_t end)
      : plan_(plan), digits_(plan.loops.size()), left_(end - index) {
    base_ = {0, plan.byte_begin, plan.memory_begin};
    for (std::ptrdiff_t i = std::ssize(plan.loops) - 1; i >= 0; --i) {
      digits_[i] = index % plan.loops[i].count;
      index /= plan.loops[i].count;
      Step(plan.loops[i], digits_[i]);
    }
  }

  bool AtEnd() const { return left_ <= 0; }
  std::int64_t left() const { return left_; }
  // Where the block begins.
  const BlockBase& base() const { return base_; }

  // How many blocks from here on are on the same rows and evenly spaced.
  std::int64_t Repeats() const {
    if (plan_.loops.empty() || plan_.loops.back().row != 0) return 1;
    return std::min(plan_.loops.back().count - digits_.back(), left_);
  }

  // No further than Repeats().
  void Move(std::int64_t blocks) {
    left_ -= blocks;
    for (std::ptrdiff_t i = std::ssize(digits_) - 1; i >= 0; --i) {
      const RegionPlan::Loop& loop = plan_.loops[i];
      digits_[i] += blocks;
      Step(loop, blocks);
      if (digits_[i] < loop.count) return;
      digits_[i] -= loop.count;
      Step(loop, -loop.count);
      blocks = 1;
    }
  }

 private:
  void Step(const RegionPlan::Loop& loop, std::int64_t times) {
    base_.row += times * loop.row;
    base_.byte += times * loop.byte;
    base_.memory += times * loop.memory;
  }

  const RegionPlan& plan_;
  std::vector<std::int64_t> digits_;
  std::int64_t left_;
  BlockBase base_;
};

// A 64-byte aligned buffer.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::int64_t bytes) : storage_(bytes + 64) {}
  std::uint8_t* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    return storage_.data() + (64 - address % 64) % 64;
  }

 private:
  std::vector<std::uint8_t> storage_;
};

bool Aligned(const std::uint8_t* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 64 == 0;
}

// The rows that blocks at one row are made of: `args` points to them.
class BlockRows {
 public:
  BlockRows(const RowSource& source, const RegionPlan& plan, std::int64_t row_bytes,
            PackBlockArgs* args)
      : source_(source),
        plan_(plan),
        row_bytes_(row_bytes),
        takes_bf16_(source.bf16 != nullptr && source.code_elements >= 32 &&
                    std::has_single_bit(static_cast<std::uint64_t>(source.code_elements)) &&
                    TakesBf16(plan)),
        rows_(plan.rows.size()),
        codes_(takes_bf16_ ? plan.rows.size() : 0),
        args_(*args) {
    args_.rows = rows_.data();
    if (takes_bf16_) {
      args_.code_shift = std::countr_zero(static_cast<std::uint64_t>(source.code_elements));
    }
  }

  // The rows of blocks that begin at row `base`.
  void MoveTo(std::int64_t base) {
    if (base == base_) return;
    base_ = base;
    if (!takes_bf16_) return Convert();
    args_.codes = codes_.data();
    args_.all_rows = true;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Bf16Row row = source_.bf16(base_ + plan_.rows[i]);
      rows_[i] = row.values;
      codes_[i] = row.codes;
      args_.all_rows = args_.all_rows && row.values != nullptr;
    }
  }

  // The same rows as `source` converts them, until the next MoveTo elsewhere.
  void Convert() {
    args_.codes = nullptr;
    args_.all_rows = true;
    if (source_.computed) scratch_.resize(rows_.size() * row_bytes_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::uint8_t* const room = source_.computed ? scratch_.data() + i * row_bytes_ : nullptr;
      rows_[i] = source_.row(base_ + plan_.rows[i], room);
      args_.all_rows = args_.all_rows && rows_[i] != nullptr;
    }
  }

 private:
  const RowSource& source_;
  const RegionPlan& plan_;
  const std::int64_t row_bytes_;
  const bool takes_bf16_;
  std::vector<const std::uint8_t*> rows_, codes_;
  std::vector<std::uint8_t> scratch_;
  std::int64_t base_ = -1;
  PackBlockArgs& args_;
};

// Tells, of blocks of one row each, which of them read on where the one before them ended.
class Stretches {
 public:
  Stretches(const RowSource& source, const RegionPlan& plan, const BlockWalk& begin)
      : source_(source), plan_(plan), walk_(begin) {
    const bool whole = plan.rows.size() == 1 && plan.byte_end == plan.block_bytes &&
                       (begin.Repeats() == 1 || plan.loops.back().byte == plan.block_bytes);
    active_ = whole && !source.computed && !walk_.AtEnd() &&
              begin.Repeats() * plan.block_bytes >= kLeastRun;
    if (active_) next_ = Here();
  }

  // The stretch of a block that is met; call for each, in order.
  ReadAhead::Stretch Of(const BlockWalk& block) {
    if (active_ && block.left() <= walk_.left()) Find();
    return stretch_;
  }

 private:
  // Shorter runs of a row are not worth the look.
  static constexpr std::int64_t kLeastRun = 1024;

  const std::uint8_t* Here() const {
    const std::uint8_t* const row = source_.row(walk_.base().row + plan_.rows[0], nullptr);
    return row == nullptr ? nullptr : row + walk_.base().byte;
  }

  void Find() {
    stretch_.begin = next_;
    const std::uint8_t* end = next_;
    do {
      const std::int64_t repeats = walk_.Repeats();
      if (end != nullptr) end += repeats * plan_.block_bytes;
      walk_.Move(repeats);
      next_ = walk_.AtEnd() ? nullptr : Here();
    } while (next_ != nullptr && next_ == end);
    stretch_.bytes = stretch_.begin == nullptr ? 0 : end - stretch_.begin;
    stretch_.next = next_;
    if (next_ == nullptr) stretch_.next = stretch_.begin;  // any place will do
  }

  const RowSource& source_;
  const RegionPlan& plan_;
  BlockWalk walk_;  // at the end of the stretch
  bool active_ = false;
  const std::uint8_t* next_ = nullptr;
  ReadAhead::Stretch stretch_;
};

// All that plans follow from.
std::vector<std::int64_t> PlanKey(const BoundLayout& layout) {
  std::vector<std::int64_t> key = {VectorBytes(), layout.units(), layout.lead_units()};
  for (int i = 0; i < layout.regions(); ++i) {
    const Region& region = layout.region(i);
    key.insert(key.end(), {region.digits, region.axis_begin, region.logical_base,
                           region.memory_base, region.units});
    for (int k = 0; k < region.digits; ++k) {
      const Digit& digit = region.digit[k];
      key.insert(key.end(), {digit.axis, digit.size, digit.coordinate_stride, digit.logical_stride,
                             digit.memory_stride, region.memory_order[k]});
    }
  }
  return key;
}

}  // namespace

absl::StatusOr<Packer> Packer::Create(const BoundLayout& layout) {
  if (layout.axes() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "packing needs a layout of two axes, row and byte; this one has ", layout.axes()));
  }
  Packer packer;
  packer.layout_ = layout;
  packer.plans_ = PlansOf(layout);
  packer.leads_ = packer.plans_->leads;
  return packer;
}

Packer::Plans Packer::MakePlans(const BoundLayout& layout) {
  Plans plans;
  PlanOptions options;
  options.vector_bytes = VectorBytes();
  options.target_block_bytes = kTargetBlockBytes;
  options.lead_bytes = layout.regions() > 1 ? layout.lead_units() : 0;
  for (int i = 0; i < layout.regions(); ++i) {
    plans.to_memory.push_back(PlanRegion(layout.region(i), options));
  }
  if (layout.regions() == 0) return plans;
  plans.leads = plans.to_memory[0].leads;
  options.lead_bytes = plans.leads == 0 ? 0 : layout.units() / plans.leads;
  options.target_block_bytes = kTargetInverseBytes;
  options.to_rows = true;
  for (int i = 0; i < layout.regions(); ++i) {
    plans.to_rows.push_back(PlanRegion(layout.region(i), options));
  }
  return plans;
}

std::shared_ptr<const Packer::Plans> Packer::PlansOf(const BoundLayout& layout) {
  static std::mutex mutex;
  static std::map<std::vector<std::int64_t>, std::weak_ptr<const Plans>> all;
  std::vector<std::int64_t> key = PlanKey(layout);
  const std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<const Plans>& known = all[std::move(key)];
  std::shared_ptr<const Plans> plans = known.lock();
  if (plans == nullptr) {
    plans = std::make_shared<const Plans>(MakePlans(layout));
    known = plans;
  }
  return plans;
}

absl::Status Packer::CheckRegisters() const {
  if (plans_ == nullptr) return absl::OkStatus();  // not of Create: no leads
  for (const RegionPlan& plan : plans_->to_memory) {
    if (plan.vector_bytes <= VectorBytes()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the packer was made for registers of ", plan.vector_bytes,
                     " bytes, and now the instruction set in use has ", VectorBytes()));
  }
  return absl::OkStatus();
}

absl::StatusOr<RewriteCounts> Packer::PackLeads(const RowSource& source, const PackOptions& options,
                                                std::int64_t first, std::int64_t count,
                                                std::span<std::uint8_t> memory) const {
  if (first < 0 || count < 0 || count > leads_ - first) {
    return absl::InvalidArgumentError(absl::StrCat("leads ", first, " .. ", first + count,
                                                   " are not within the layout's ", leads_));
  }
  if (std::ssize(memory) != count * lead_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("packing ", count, " leads of ", lead_bytes(),
                                                   " bytes was given room for ", memory.size()));
  }
  if (absl::Status status = CheckRegisters(); !status.ok()) return status;
  RewriteCounts total;
  if (count == 0) return total;
  const std::int64_t row_bytes = layout_.extent(1);
  if (source.valid_bytes < 0 || source.valid_bytes > row_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rows of ", source.valid_bytes, " bytes for a layout of ", row_bytes, " bytes a row"));
  }
  const bool streaming =
      options.stores == PackOptions::Stores::kStreaming ||
      (options.stores == PackOptions::Stores::kAuto && std::ssize(memory) >= kStreamingBytes);
  std::mutex mutex;
  for (const RegionPlan& plan : plans_->to_memory) {
    const std::int64_t blocks_a_lead = plan.blocks / leads_;
    const std::int64_t begin_block = first * blocks_a_lead;
    // Whole lines straight from registers, or through a buffer.
    const bool may_stream = streaming && lead_bytes() % 64 == 0 && plan.memory_begin % 64 == 0 &&
                            Aligned(memory.data());
    const bool direct = may_stream && plan.whole_lines;
    const bool staged = may_stream && !direct && plan.contiguous && plan.block_bytes % 64 == 0;
    ParallelFor(count * blocks_a_lead, options.threads,
                [&](std::int64_t begin, std::int64_t end, int) {
                  RewriteCounts counts;
                  AlignedBuffer stage(staged ? plan.block_bytes : 0);
                  PackBlockArgs args;
                  args.plan = &plan;
                  args.padding = source.padding;
                  args.valid_bytes = source.valid_bytes;
                  args.rewrite = options.rewrite;
                  args.streaming = direct;
                  args.counts = &counts;
                  BlockRows rows(source, plan, row_bytes, &args);
                  BlockWalk block(plan, begin_block + begin, begin_block + end);
                  Stretches stretches(source, plan, block);
                  for (; !block.AtEnd(); block.Move(args.repeat)) {
                    const BlockBase& base = block.base();
                    rows.MoveTo(base.row);
                    args.stretch = stretches.Of(block);
                    args.byte_base = base.byte;
                    args.repeat = staged ? 1 : block.Repeats();
                    std::uint8_t* to = memory.data() + (base.memory - first * lead_bytes());
                    args.memory = staged ? stage.data() : to;
                    if (!PackBlock(args)) {
                      rows.Convert();
                      PackBlock(args);
                    }
                    if (staged) StreamCopy(stage.data(), to, plan.block_bytes);
                  }
                  if (direct || staged) StreamFence();
                  const std::lock_guard<std::mutex> lock(mutex);
                  total += counts;
                });
  }
  return total;
}

absl::Status Packer::UnpackLeads(std::span<const std::uint8_t> memory, std::int64_t first,
                                 std::int64_t count, const RowSink& sink, int threads) const {
  if (first < 0 || count < 0 || count > leads_ - first) {
    return absl::InvalidArgumentError(absl::StrCat("leads ", first, " .. ", first + count,
                                                   " are not within the layout's ", leads_));
  }
  if (std::ssize(memory) != count * lead_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("unpacking ", count, " leads of ", lead_bytes(),
                                                   " bytes was given ", memory.size()));
  }
  if (sink.valid_bytes < 0 || (count > 0 && sink.valid_bytes > layout_.extent(1))) {
    return absl::InvalidArgumentError(absl::StrCat("rows of ", sink.valid_bytes,
                                                   " bytes from a layout of ", layout_.extent(1),
                                                   " bytes a row"));
  }
  if (absl::Status status = CheckRegisters(); !status.ok()) return status;
  if (count == 0) return absl::OkStatus();
  const bool streaming = std::ssize(memory) >= kStreamingBytes;
  for (const RegionPlan& plan : plans_->to_rows) {
    const std::int64_t blocks_a_lead = plan.blocks / leads_;
    const std::int64_t begin_block = first * blocks_a_lead;
    const bool may_stream = streaming && plan.whole_lines && plan.byte_begin % 64 == 0;
    ParallelFor(count * blocks_a_lead, threads, [&](std::int64_t begin, std::int64_t end, int) {
      std::vector<std::uint8_t*> pointers(plan.rows.size());
      std::int64_t row_base = -1;
      UnpackBlockArgs args;
      args.plan = &plan;
      args.rows = pointers.data();
      args.valid_bytes = sink.valid_bytes;
      BlockWalk block(plan, begin_block + begin, begin_block + end);
      for (; !block.AtEnd(); block.Move(args.repeat)) {
        const BlockBase& base = block.base();
        if (base.row != row_base) {
          row_base = base.row;
          args.all_rows = true;
          args.streaming = may_stream;
          for (std::size_t i = 0; i < pointers.size(); ++i) {
            pointers[i] = sink.row(row_base + plan.rows[i]);
            args.all_rows = args.all_rows && pointers[i] != nullptr;
            args.streaming = args.streaming && Aligned(pointers[i]);
          }
        }
        args.byte_base = base.byte;
        args.repeat = block.Repeats();
        args.memory = memory.data() + (base.memory - first * lead_bytes());
        if (args.stretch.begin == nullptr) args.stretch.begin = args.memory;
        UnpackBlock(args);
      }
      if (may_stream) StreamFence();
    });
  }
  return absl::OkStatus();
}

}  // namespace lanewise
