#include "weights/code_rows.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>

#include "weights/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/code_rows.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

bool AddToCodesImpl(const std::uint8_t* HWY_RESTRICT from, std::int64_t count, int add, int least,
                    int most, bool streaming, std::uint8_t* HWY_RESTRICT to) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto addend = hn::Set(d, static_cast<std::uint8_t>(add));
  // In range as long as no vector was read.
  auto smallest = hn::Set(d, 0xFF);
  auto largest = hn::Zero(d);
  bool inside = true;
  const auto one_by_one = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      inside = inside && from[i] >= least && from[i] <= most;
      to[i] = static_cast<std::uint8_t>(from[i] + add);
    }
  };
  std::int64_t i = 0;
  if (streaming) {
    const std::int64_t off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % 64);
    i = std::min(count, (64 - off) % 64);
    one_by_one(0, i);
    for (; i + lanes <= count; i += lanes) {
      const auto codes = hn::LoadU(d, from + i);
      smallest = hn::Min(smallest, codes);
      largest = hn::Max(largest, codes);
      hn::Stream(hn::Add(codes, addend), d, to + i);
    }
  } else {
    for (; i + lanes <= count; i += lanes) {
      const auto codes = hn::LoadU(d, from + i);
      smallest = hn::Min(smallest, codes);
      largest = hn::Max(largest, codes);
      hn::StoreU(hn::Add(codes, addend), d, to + i);
    }
  }
  one_by_one(i, count);
  if (count < lanes) return inside;
  const auto too_small = hn::Lt(smallest, hn::Set(d, static_cast<std::uint8_t>(least)));
  const auto too_large = hn::Gt(largest, hn::Set(d, static_cast<std::uint8_t>(most)));
  return inside && hn::AllFalse(d, too_small) && hn::AllFalse(d, too_large);
}

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lanewise {
namespace {

HWY_EXPORT(AddToCodesImpl);

// The first row past `row` whose place does not follow the one before it.
template <class Place>
std::int64_t EndOfRun(const Place& place, std::int64_t row, std::int64_t end,
                      std::int64_t row_bytes) {
  auto* const begin = place(row);
  std::int64_t next = row + 1;
  while (next < end && place(next) == begin + (next - row) * row_bytes) ++next;
  return next;
}

// Whether rows take places of their own, in ascending order, so that threads can write them apart.
bool Ascend(const CodeRows& rows, const std::function<std::uint8_t*(std::int64_t)>& place) {
  const std::uint8_t* past = nullptr;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::uint8_t* const begin = place(row);
    if (begin == nullptr) continue;
    if (std::less<>()(begin, past)) return false;
    past = begin + rows.row_bytes;
  }
  return true;
}

}  // namespace

bool AddToCodes(const std::uint8_t* from, std::int64_t count, int add, int least, int most,
                bool streaming, std::uint8_t* to) {
  return HWY_DYNAMIC_DISPATCH(AddToCodesImpl)(from, count, add, least, most, streaming, to);
}

bool RaiseCodeRows(const CodeRows& rows, int increment, int first_refused, bool streaming,
                   const std::function<const std::uint8_t*(std::int64_t row)>& place,
                   std::uint8_t* array) {
  if (first_refused <= 0 && rows.row_bytes > 0) return rows.rows == 0;
  const bool whole = rows.row_bytes == rows.memory_row_bytes;
  std::atomic<bool> good = true;
  ParallelFor(rows.rows, rows.threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end;) {
      const std::uint8_t* const from = place(row);
      std::uint8_t* const to = array + row * rows.memory_row_bytes;
      const bool data = from != nullptr;
      const std::int64_t next = data && whole ? EndOfRun(place, row, end, rows.row_bytes) : row + 1;
      const std::int64_t codes = data ? (next - row) * rows.row_bytes : 0;
      if (data &&
          !AddToCodes(from, codes, increment, 0, std::min(first_refused, 256) - 1, streaming, to)) {
        good = false;
      }
      if (!data || !whole) std::memset(to + codes, rows.padding, rows.memory_row_bytes - codes);
      row = next;
    }
    if (streaming) hwy::FlushStream();
  });
  return good;
}

bool LowerCodeRows(const CodeRows& rows, int increment, bool streaming, const std::uint8_t* array,
                   const std::function<std::uint8_t*(std::int64_t row)>& place) {
  const bool whole = rows.row_bytes == rows.memory_row_bytes;
  std::atomic<bool> good = true;
  const int threads = rows.threads == 1 || Ascend(rows, place) ? rows.threads : 1;
  ParallelFor(rows.rows, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end;) {
      std::uint8_t* const to = place(row);
      if (to == nullptr) {
        ++row;
        continue;
      }
      const std::int64_t next = whole ? EndOfRun(place, row, end, rows.row_bytes) : row + 1;
      const std::int64_t codes = (next - row) * rows.row_bytes;
      if (!AddToCodes(array + row * rows.memory_row_bytes, codes, -increment, increment, 255,
                      streaming, to)) {
        good = false;
      }
      row = next;
    }
    if (streaming) hwy::FlushStream();
  });
  return good;
}

}  // namespace lanewise
#endif  // HWY_ONCE
