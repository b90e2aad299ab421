#include "weights/row_conversion.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "weights/bf16_rows.h"
#include "weights/code_rows.h"

namespace lanewise {
namespace {

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

// The source's code behind a prepared one.
void LowerCode(const TensorPlan& plan, std::uint8_t code, std::int64_t row, std::int64_t column,
               std::uint8_t* lowered, FirstFault* fault) {
  if (code < plan.code_increment) {
    fault->Add(row, absl::StrCat("prepared scale code ", code, " at row ", row, ", column ", column,
                                 ": expected at least ", plan.code_increment));
  }
  *lowered = static_cast<std::uint8_t>(code - plan.code_increment);
}

// Bytes that the packer moves, with its rewrite at most.
class Moved : public RowConversion {
 public:
  void Convert(const TensorPlan& plan, const Sources& sources, std::int64_t row,
               std::uint8_t* scratch, RowFaults*) const override {
    std::memcpy(scratch, At(sources, plan.place(row)), plan.source_row_bytes);
  }
  void Undo(const TensorPlan& plan, const std::uint8_t* converted, std::int64_t row, bool,
            const Sinks& sinks, RowFaults*) const override {
    std::memcpy(At(sinks, plan.place(row)), converted, plan.source_row_bytes);
  }
};

class ScaleCodes : public RowConversion {
 public:
  void Convert(const TensorPlan& plan, const Sources& sources, std::int64_t row,
               std::uint8_t* scratch, RowFaults* faults) const override {
    const std::uint8_t* from = At(sources, plan.place(row));
    const int most = std::min(plan.first_refused_code, 256) - 1;
    if (plan.code_repeat == 1 && AddToCodes(from, plan.source_row_bytes, plan.code_increment, 0,
                                            most, /*streaming=*/false, scratch)) {
      return;
    }
    RaiseCodes(plan, from, row, scratch, &faults->first);
  }
  void Undo(const TensorPlan& plan, const std::uint8_t* converted, std::int64_t row, bool,
            const Sinks& sinks, RowFaults* faults) const override {
    std::uint8_t* to = At(sinks, plan.place(row));
    if (plan.code_repeat == 1 && AddToCodes(converted, plan.source_row_bytes, -plan.code_increment,
                                            plan.code_increment, 255, /*streaming=*/false, to)) {
      return;
    }
    for (std::int64_t i = 0; i < plan.source_row_bytes; ++i) {
      LowerCode(plan, converted[i * plan.code_repeat], row, i, to + i, &faults->first);
    }
  }
};

// bf16 that was dequantized, to the e4m3 bytes behind it.
class FromBf16 : public RowConversion {
 public:
  void Convert(const TensorPlan& plan, const Sources& sources, std::int64_t row,
               std::uint8_t* scratch, RowFaults* faults) const override {
    const std::uint8_t* from = At(sources, plan.place(row));
    const std::uint8_t* codes = At(sources, plan.code_place(row));
    const std::int64_t code_elements = plan.code_elements();
    const WrongValues wrong =
        OcpFromDequantRow(from, codes, code_elements, plan.elements(), scratch);
    if (wrong.count == 0) return;
    faults->inexact += wrong.count;
    const std::int64_t at = wrong.first;
    faults->first.Add(
        row, absl::StrFormat("[%d, %d] is bf16 0x%02X%02X under code %d", row, at, from[2 * at + 1],
                             from[2 * at], codes[at / code_elements]));
  }
  void Undo(const TensorPlan& plan, const std::uint8_t* converted, std::int64_t row, bool streaming,
            const Sinks& sinks, RowFaults*) const override {
    UndoOcpFromDequantRow(converted, At(sinks, plan.code_place(row)), plan.code_elements(),
                          plan.elements(), streaming, At(sinks, plan.place(row)));
  }
  bool OwnPlaces() const override { return true; }
};

class ToBf16 : public RowConversion {
 public:
  void Convert(const TensorPlan& plan, const Sources& sources, std::int64_t row,
               std::uint8_t* scratch, RowFaults*) const override {
    DequantizeRow(At(sources, plan.place(row)), At(sources, plan.code_place(row)),
                  plan.code_elements(), plan.elements(), scratch);
  }
  void Undo(const TensorPlan& plan, const std::uint8_t* converted, std::int64_t row, bool,
            const Sinks& sinks, RowFaults* faults) const override {
    const WrongValues wrong =
        UndoDequantizeRow(converted, At(sinks, plan.code_place(row)), plan.code_elements(),
                          plan.elements(), At(sinks, plan.place(row)));
    if (wrong.count == 0) return;
    faults->first.Add(
        row, absl::StrFormat("%d values of row %d are not e4m3 x scale, the first at column %d",
                             wrong.count, row, wrong.first));
  }
};

}  // namespace

const RowConversion& RowConversion::Of(Conversion conversion) {
  static const Moved moved;
  static const ScaleCodes scale_codes;
  static const FromBf16 from_bf16;
  static const ToBf16 to_bf16;
  switch (conversion) {
    case Conversion::kNone:
    case Conversion::kE4m3ToFnuz:
    case Conversion::kE2m1DropNegativeZero:
      return moved;
    case Conversion::kScaleCode:
      return scale_codes;
    case Conversion::kBf16ToE4m3:
    case Conversion::kBf16ToFnuz:
      return from_bf16;
    case Conversion::kE4m3ToBf16:
      return to_bf16;
  }
  return moved;
}

}  // namespace lanewise
