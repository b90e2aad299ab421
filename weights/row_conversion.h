#ifndef LANEWISE_WEIGHTS_ROW_CONVERSION_H_
#define LANEWISE_WEIGHTS_ROW_CONVERSION_H_

// One row of a plan through its conversion and back: what run_plan.cc and restore_plan.cc have in
// common, whatever the conversion. For tensor_plan alone.
//
//   const RowConversion& conversion = RowConversion::Of(plan.conversion);
//   conversion.Convert(plan, sources, row, scratch, &faults);           // place -> scratch
//   conversion.Undo(plan, scratch, row, streaming, sinks, &faults);     // scratch -> place

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "weights/tensor_plan.h"

namespace lanewise {

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

// What the rows of a run or a restoration met, from any thread.
struct RowFaults {
  FirstFault first;
  std::atomic<std::int64_t> inexact = 0;  // bf16 values that are not e4m3 x code
};

inline const std::uint8_t* At(const Sources& sources, const RowPlace& place) {
  return sources[place.source].data() + place.offset;
}
inline std::uint8_t* At(const Sinks& sinks, const RowPlace& place) {
  return sinks[place.source].data() + place.offset;
}

// What converts the rows of one Conversion. The places of a row that is given are checked, and it is
// no padding.
class RowConversion {
 public:
  static const RowConversion& Of(Conversion conversion);
  virtual ~RowConversion() = default;

  // The converted row, before the packer's rewrite, in `scratch`. Where traits say `computed`.
  virtual void Convert(const TensorPlan& plan, const Sources& sources, std::int64_t row,
                       std::uint8_t* scratch, RowFaults* faults) const = 0;

  // Takes a converted row back to its place (past the caches if `streaming`).
  virtual void Undo(const TensorPlan& plan, const std::uint8_t* converted, std::int64_t row,
                    bool streaming, const Sinks& sinks, RowFaults* faults) const = 0;

  // Whether no two rows share a place, so that they can be undone at the same time.
  virtual bool OwnPlaces() const { return false; }
};

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_ROW_CONVERSION_H_
