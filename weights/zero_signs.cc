#include "weights/zero_signs.h"

#include "absl/strings/str_cat.h"

namespace lanewise {
namespace {

// Calls visit(bytes, sign mask) for every zero-valued element of a row: `bytes` points at the byte
// that holds its sign. Byte is std::uint8_t or const std::uint8_t.
template <class Byte, class Visit>
void VisitZeros(Conversion conversion, Byte* row, std::int64_t row_bytes, const Visit& visit) {
  if (conversion == Conversion::kE4m3ToFnuz) {
    for (std::int64_t i = 0; i < row_bytes; ++i) {
      if ((row[i] & 0x7F) == 0) visit(row + i, 0x80);
    }
  } else if (conversion == Conversion::kE2m1DropNegativeZero) {
    for (std::int64_t i = 0; i < row_bytes; ++i) {
      if ((row[i] & 0x07) == 0) visit(row + i, 0x08);
      if ((row[i] & 0x70) == 0) visit(row + i, 0x80);
    }
  } else if (conversion == Conversion::kBf16ToFnuz) {
    for (std::int64_t i = 0; i < row_bytes; i += 2) {
      if (row[i] == 0 && (row[i + 1] & 0x7F) == 0) visit(row + i + 1, 0x80);
    }
  }
}

template <class Spans, class Visit>
void VisitZerosOfRows(const TensorPlan& plan, const Spans& spans, std::int64_t begin,
                      std::int64_t end, const Visit& visit) {
  for (std::int64_t row = begin; row < end; ++row) {
    const RowPlace place = plan.place(row);
    if (place.IsPadding()) continue;
    VisitZeros(plan.conversion, spans[place.source].data() + place.offset, plan.source_row_bytes,
               visit);
  }
}

template <class Spans, class Visit>
void VisitAllZeros(const TensorPlan& plan, const Spans& spans, const Visit& visit) {
  VisitZerosOfRows(plan, spans, 0, plan.rows(), visit);
}

}  // namespace

bool DiscardsZeroSigns(const TensorPlan& plan) {
  return plan.conversion == Conversion::kE4m3ToFnuz ||
         plan.conversion == Conversion::kE2m1DropNegativeZero ||
         plan.conversion == Conversion::kBf16ToFnuz;
}

std::vector<std::uint8_t> ZeroSigns(const TensorPlan& plan, const Sources& sources) {
  return ZeroSignsOfRows(plan, sources, 0, plan.rows()).bytes;
}

std::int64_t ZeroSignBytes(const TensorPlan& plan, const Sources& sources) {
  return (CountZeros(plan, sources, 0, plan.rows()) + 7) / 8;
}

ZeroSignBits ZeroSignsOfRows(const TensorPlan& plan, const Sources& sources, std::int64_t begin,
                             std::int64_t end) {
  ZeroSignBits bits;
  VisitZerosOfRows(plan, sources, begin, end, [&](const std::uint8_t* byte, int sign) {
    if (bits.count % 8 == 0) bits.bytes.push_back(0);
    if ((*byte & sign) != 0) {
      bits.bytes.back() |= static_cast<std::uint8_t>(1 << (bits.count % 8));
    }
    ++bits.count;
  });
  return bits;
}

std::int64_t CountZeros(const TensorPlan& plan, const Sources& sources, std::int64_t begin,
                        std::int64_t end) {
  std::int64_t count = 0;
  VisitZerosOfRows(plan, sources, begin, end, [&](const std::uint8_t*, int) { ++count; });
  return count;
}

std::int64_t ApplyZeroSignsToRows(const TensorPlan& plan, std::span<const std::uint8_t> bits,
                                  std::int64_t first, std::int64_t begin, std::int64_t end,
                                  const Sinks& sinks) {
  std::int64_t bit = first;
  const std::int64_t room = 8 * std::ssize(bits);
  VisitZerosOfRows(plan, sinks, begin, end, [&](std::uint8_t* byte, int sign) {
    if (bit < room && (bits[bit / 8] >> (bit % 8) & 1) != 0) {
      *byte |= static_cast<std::uint8_t>(sign);
    }
    ++bit;
  });
  return bit - first;
}

absl::Status CheckZeroSigns(std::span<const std::uint8_t> bits, std::int64_t zeros) {
  bool unused_set = false;
  for (std::int64_t i = zeros; i < 8 * std::ssize(bits); ++i) {
    unused_set = unused_set || (bits[i / 8] >> (i % 8) & 1) != 0;
  }
  if ((zeros + 7) / 8 == std::ssize(bits) && !unused_set) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the weight has ", zeros, " zeros, and ",
                                                 bits.size(),
                                                 " bytes of their signs do not fit them"));
}

absl::Status ApplyZeroSigns(const TensorPlan& plan, std::span<const std::uint8_t> bits,
                            const Sinks& sinks) {
  return CheckZeroSigns(bits, ApplyZeroSignsToRows(plan, bits, 0, 0, plan.rows(), sinks));
}

}  // namespace lanewise
