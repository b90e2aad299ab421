#include "layouts/pack.h"

#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "layouts/order.h"

namespace lanewise {
namespace {

// Visits a region's contiguous runs in memory order and calls move(logical byte, memory byte,
// bytes).
template <class Move>
void ForEachRun(const Region& region, std::int64_t unit_bytes, const Move& move) {
  std::vector<OrderDigit> digits = RegionDigits(region);
  std::int64_t run = 1;
  if (!digits.empty() && digits.back().from_stride == 1 && digits.back().to_stride == 1) {
    run = digits.back().size;
    digits.pop_back();
  }
  std::vector<std::int64_t> count(digits.size(), 0);
  std::int64_t from = region.logical_base;
  std::int64_t to = region.memory_base;
  while (true) {
    move(from * unit_bytes, to * unit_bytes, run * unit_bytes);
    // The next combination of digits, innermost first.
    std::ptrdiff_t i = std::ssize(digits) - 1;
    for (; i >= 0; --i) {
      from += digits[i].from_stride;
      to += digits[i].to_stride;
      if (++count[i] < digits[i].size) break;
      from -= digits[i].size * digits[i].from_stride;
      to -= digits[i].size * digits[i].to_stride;
      count[i] = 0;
    }
    if (i < 0) return;
  }
}

absl::Status CheckSizes(const BoundLayout& layout, int unit_bytes, std::size_t logical,
                        std::size_t memory) {
  if (unit_bytes != 1 && unit_bytes != 2 && unit_bytes != 4 && unit_bytes != 8 &&
      unit_bytes != 16) {
    return absl::InvalidArgumentError(
        absl::StrCat("units of ", unit_bytes, " bytes, expected 1, 2, 4, 8 or 16"));
  }
  // Division, because the product can pass 2^63.
  const auto fits = [&](std::size_t bytes) {
    return bytes % unit_bytes == 0 &&
           bytes / unit_bytes == static_cast<std::size_t>(layout.units());
  };
  if (!fits(logical) || !fits(memory)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a layout of ", layout.units(), " units of ", unit_bytes,
                     " bytes was given a logical array of ", logical,
                     " bytes and a memory array of ", memory, " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Pack(const BoundLayout& layout, int unit_bytes, std::span<const std::uint8_t> logical,
                  std::span<std::uint8_t> memory) {
  const absl::Status status = CheckSizes(layout, unit_bytes, logical.size(), memory.size());
  if (!status.ok()) return status;
  for (int i = 0; i < layout.regions(); ++i) {
    ForEachRun(layout.region(i), unit_bytes,
               [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
                 std::memcpy(memory.data() + to, logical.data() + from, bytes);
               });
  }
  return absl::OkStatus();
}

absl::Status Unpack(const BoundLayout& layout, int unit_bytes, std::span<const std::uint8_t> memory,
                    std::span<std::uint8_t> logical) {
  const absl::Status status = CheckSizes(layout, unit_bytes, logical.size(), memory.size());
  if (!status.ok()) return status;
  for (int i = 0; i < layout.regions(); ++i) {
    ForEachRun(layout.region(i), unit_bytes,
               [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
                 std::memcpy(logical.data() + from, memory.data() + to, bytes);
               });
  }
  return absl::OkStatus();
}

}  // namespace lanewise
