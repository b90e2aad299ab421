#include "weights/code_rows.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>

#include "weights/parallel.h"
#include "weights/read_ahead.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/code_rows.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Codes that lie together and are worth reading ahead of.
constexpr std::int64_t kReadAheadBytes = 64 * 1024;

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
    const auto move = [&](std::int64_t at) HWY_ATTR {
      const auto codes = hn::LoadU(d, from + at);
      smallest = hn::Min(smallest, codes);
      largest = hn::Max(largest, codes);
      hn::Stream(hn::Add(codes, addend), d, to + at);
    };
    if (count >= kReadAheadBytes) {
      ReadAhead ahead({.begin = from + i}, from + i);
      for (; i + 256 <= count; i += 256) {
        for (int line = 0; line < 4; ++line) {
          ahead.Ask<4, 64>(line);
          for (int at = 64 * line; at < 64 * (line + 1); at += static_cast<int>(lanes))
            move(i + at);
        }
        ahead.Move(256);
      }
    }
    for (; i + lanes <= count; i += lanes) move(i);
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

// Whether rows take places of their own, in ascending order, so that threads can write them apart.
bool Ascend(const CodeRows& rows, const CodeRuns<std::uint8_t>& runs) {
  const std::uint8_t* past = nullptr;
  for (std::int64_t row = 0; row < rows.rows;) {
    const CodeRun<std::uint8_t> run = runs(row, rows.rows);
    row += run.rows;
    if (run.first == nullptr) continue;
    if (std::less<>()(run.first, past)) return false;
    past = run.first + run.rows * rows.row_bytes;
  }
  return true;
}

}  // namespace

bool AddToCodes(const std::uint8_t* from, std::int64_t count, int add, int least, int most,
                bool streaming, std::uint8_t* to) {
  return HWY_DYNAMIC_DISPATCH(AddToCodesImpl)(from, count, add, least, most, streaming, to);
}

bool RaiseCodeRows(const CodeRows& rows, int increment, int first_refused, bool streaming,
                   const CodeRuns<const std::uint8_t>& runs, std::uint8_t* array) {
  if (first_refused <= 0 && rows.row_bytes > 0) return rows.rows == 0;
  const bool whole = rows.row_bytes == rows.memory_row_bytes;
  std::atomic<bool> good = true;
  ParallelFor(rows.rows, rows.threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end;) {
      const CodeRun<const std::uint8_t> run = runs(row, end);
      // As one piece, or row by row.
      const std::int64_t pieces = whole ? 1 : run.rows;
      const std::int64_t memory_bytes = run.rows * rows.memory_row_bytes / pieces;
      const std::int64_t codes = run.first == nullptr ? 0 : run.rows * rows.row_bytes / pieces;
      for (std::int64_t i = 0; i < pieces; ++i) {
        std::uint8_t* const to = array + row * rows.memory_row_bytes + i * memory_bytes;
        if (codes > 0 && !AddToCodes(run.first + i * codes, codes, increment, 0,
                                     std::min(first_refused, 256) - 1, streaming, to)) {
          good = false;
        }
        std::memset(to + codes, rows.padding, memory_bytes - codes);
      }
      row += run.rows;
    }
    if (streaming) hwy::FlushStream();
  });
  return good;
}

bool LowerCodeRows(const CodeRows& rows, int increment, bool streaming, const std::uint8_t* array,
                   const CodeRuns<std::uint8_t>& runs) {
  const bool whole = rows.row_bytes == rows.memory_row_bytes;
  std::atomic<bool> good = true;
  const int threads = rows.threads == 1 || Ascend(rows, runs) ? rows.threads : 1;
  ParallelFor(rows.rows, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end;) {
      const CodeRun<std::uint8_t> run = runs(row, end);
      const std::int64_t pieces = run.first == nullptr ? 0 : whole ? 1 : run.rows;
      const std::int64_t codes = whole ? run.rows * rows.row_bytes : rows.row_bytes;
      for (std::int64_t i = 0; i < pieces; ++i) {
        if (!AddToCodes(array + (row + i) * rows.memory_row_bytes, codes, -increment, increment,
                        255, streaming, run.first + i * codes)) {
          good = false;
        }
      }
      row += run.rows;
    }
    if (streaming) hwy::FlushStream();
  });
  return good;
}

}  // namespace lanewise
#endif  // HWY_ONCE
