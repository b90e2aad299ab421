#ifndef LANEWISE_WEIGHTS_TENSOR_PLAN_H_
#define LANEWISE_WEIGHTS_TENSOR_PLAN_H_

// One prepared tensor: its layout, where its rows come from in the source tensors, and what happens
// to them on the way. The one description serves both directions, so that what was prepared can be
// restored; and since it names places and not pointers, it serves a whole tensor, a tensor-parallel
// slice, and experts fused from many tensors alike.
//
// weights/{gfx942,gfx950,flashmla}/*.h make plans; run them with
//   RunPlan(plan, {weight bytes, code bytes}, options, memory)         sources -> memory
//   RestorePlan(plan, memory, threads, {weight bytes, code bytes})     memory -> sources
// Both take the source tensors in the order that the plan's maker states.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "layouts/layout.h"
#include "weights/conversion.h"
#include "weights/packer.h"

namespace lanewise {

// Where a logical row lies: byte `offset` of source tensor `source`. source -1: a row of padding.
struct RowPlace {
  int source = -1;
  std::int64_t offset = 0;

  bool IsPadding() const { return source < 0; }
  static RowPlace Padding() { return {}; }
};

// Where each row of a plan lies: any function of the row, or rows evenly spaced in one source,
// which movers need not ask for one by one.
class RowPlaces {
 public:
  RowPlaces() = default;
  template <
      class Place,
      std::enable_if_t<!std::is_same_v<std::decay_t<Place>, RowPlaces> &&
                           std::is_constructible_v<std::function<RowPlace(std::int64_t)>, Place>,
                       int> = 0>
  RowPlaces(Place&& place) : place_(std::forward<Place>(place)) {}  // NOLINT: as std::function is

  // Row `row` lies `row * stride` bytes after `first`, which is no padding.
  static RowPlaces Spaced(RowPlace first, std::int64_t stride) {
    RowPlaces places;
    places.first_ = first;
    places.stride_ = stride;
    return places;
  }
  bool spaced() const { return !first_.IsPadding(); }
  std::int64_t stride() const { return stride_; }  // where spaced()

  RowPlace operator()(std::int64_t row) const {
    return spaced() ? RowPlace{first_.source, first_.offset + row * stride_} : place_(row);
  }
  friend bool operator==(const RowPlaces& places, std::nullptr_t) {
    return !places.spaced() && places.place_ == nullptr;
  }

 private:
  std::function<RowPlace(std::int64_t row)> place_;
  RowPlace first_;
  std::int64_t stride_ = 0;
};

struct TensorPlan {
  // The layout with its parameters given, bound to (rows, bytes of a row in memory).
  Layout layout;
  Packer packer;
  // Of the bytes in memory; the product is packer.layout().units().
  std::vector<std::int64_t> shape;

  RowPlaces place;
  std::int64_t source_row_bytes = 0;  // of each row that is not padding, in its source
  std::int64_t row_bytes = 0;         // the same row after conversion; padding follows it in memory
  std::uint8_t padding = 0;
  Conversion conversion = Conversion::kNone;

  // Stands for this many source rows, one after the other, that must agree: row codes folded to
  // blocks. They lie agreeing_stride bytes apart.
  std::int64_t agreeing_rows = 1;
  std::int64_t agreeing_stride = 0;

  // With a bf16 conversion: where the scale codes of a row lie, one for each 32 x code_repeat
  // elements.
  RowPlaces code_place;

  // With kScaleCode: what is added, and the first code that is refused (256: none).
  int code_increment = 0;
  int first_refused_code = 256;
  std::int64_t code_repeat = 1;

  // With a conversion to FNUZ: refuse OCP NaN bytes, which would read as +-240. Otherwise they are
  // counted.
  bool refuse_nans = false;

  std::int64_t rows() const { return packer.layout().extent(0); }
  std::int64_t bytes() const { return packer.layout().units(); }

  // Elements of a row at its place.
  std::int64_t elements() const { return source_row_bytes * 8 / TraitsOf(conversion).source_bits; }
  // From the first to the last byte that a row stands for, those of agreeing rows included.
  std::int64_t source_extent() const {
    return (agreeing_rows - 1) * agreeing_stride + source_row_bytes;
  }
  // Elements under one scale code at code_place, and a row's codes there.
  std::int64_t code_elements() const { return 32 * code_repeat; }
  std::int64_t code_bytes() const { return (elements() + code_elements() - 1) / code_elements(); }
};

using Sources = std::vector<std::span<const std::uint8_t>>;
using Sinks = std::vector<std::span<std::uint8_t>>;

// How many bytes each has.
template <class Spans>
std::vector<std::int64_t> SizesOf(const Spans& spans) {
  std::vector<std::int64_t> sizes;
  for (const auto& span : spans) sizes.push_back(std::ssize(span));
  return sizes;
}

// Logical rows begin .. end - 1 of a plan.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The rows that leads first .. first + count - 1 (Packer::leads) hold any byte of: all of the plan
// where leads are not contiguous rows (lead_rows.h).
RowRange RowsOfLeads(const TensorPlan& plan, std::int64_t first, std::int64_t count);

// Refuses the first of the rows whose bytes or codes lie outside sources of these sizes.
absl::Status CheckPlaces(const TensorPlan& plan, std::span<const std::int64_t> sizes,
                         RowRange rows);

struct RunOptions {
  int threads = 1;  // 0: all of the machine's
  PackOptions::Stores stores = PackOptions::Stores::kAuto;
};

// Prepares leads first .. first + count - 1 (Packer::leads) into `memory`, count * lead_bytes()
// bytes. Refuses, and says at which row and element first:
//  - a place of these rows outside its source (InvalidArgument),
//  - rows that must agree and do not, codes from first_refused_code on, NaN bytes where refuse_nans,
//  - bf16 values that are not e4m3 x code, "B of N values are not e4m3 x scale", counted over the
//    plan, all of whose places must then lie within their sources (CheckPlaces).
// What `memory` holds after a refusal is unspecified.
absl::StatusOr<RewriteCounts> RunPlanLeads(const TensorPlan& plan, const Sources& sources,
                                           const RunOptions& options, std::int64_t first,
                                           std::int64_t count, std::span<std::uint8_t> memory);

// All leads.
absl::StatusOr<RewriteCounts> RunPlan(const TensorPlan& plan, const Sources& sources,
                                      const RunOptions& options, std::span<std::uint8_t> memory);

// Writes the source rows behind `memory` into `sinks`; other bytes of the sinks stay. Comes back:
// all but the signs of zeros that a conversion dropped (weights/zero_signs.h keeps them).
// kE4m3ToBf16 needs its codes in sinks already, and refuses bf16 values that are not e4m3 x code.
absl::Status RestorePlan(const TensorPlan& plan, std::span<const std::uint8_t> memory, int threads,
                         const Sinks& sinks);

// The same of leads [first, first + count) in `memory`; of all leads where they are not contiguous
// rows (lead_rows.h) and the conversion is not byte by byte. Refuses a place of these rows outside
// its sink.
// Parts of one plan may be restored at the same time unless its rows share places, as repeated
// codes do.
absl::Status RestorePlanLeads(const TensorPlan& plan, std::span<const std::uint8_t> memory,
                              std::int64_t first, std::int64_t count, int threads,
                              const Sinks& sinks);

// A plan for `layout` bound to (rows, row_bytes padded to what the caller chose as
// memory_row_bytes). InvalidArgument where the layout does not fit.
absl::StatusOr<TensorPlan> MakePlan(const Layout& layout, std::int64_t rows,
                                    std::int64_t memory_row_bytes);

// The plan of the source rows behind `plan` as they are, row-major: what takes the originals of a
// converted weight along, and back.
TensorPlan SourceRowsOf(const TensorPlan& plan);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_TENSOR_PLAN_H_
