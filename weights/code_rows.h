#ifndef LANEWISE_WEIGHTS_CODE_ROWS_H_
#define LANEWISE_WEIGHTS_CODE_ROWS_H_

// Rows of scale codes between their places and a row-major array, each code plus a number. A row is
// some hundred bytes, so rows that follow each other on both sides are moved as one.

#include <cstdint>
#include <functional>
#include <span>

namespace lanewise {

struct CodeRows {
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;         // codes of a row at its place
  std::int64_t memory_row_bytes = 0;  // ... and in the array, padding included
  std::uint8_t padding = 0;
  int threads = 1;  // 0: all of the machine's
};

// Rows that follow each other at their places, row_bytes apart, or rows of padding.
template <class Byte>
struct CodeRun {
  Byte* first = nullptr;  // nullptr: padding
  std::int64_t rows = 1;
};
// The run that begins at `row` and ends at `end` or before.
template <class Byte>
using CodeRuns = std::function<CodeRun<Byte>(std::int64_t row, std::int64_t end)>;

// array[row] = the row at its place + increment, then padding; a row of padding is all padding.
// False where a code is `first_refused` or more; the array is unspecified then. `array` has rows *
// memory_row_bytes bytes, which go past the caches if `streaming`.
bool RaiseCodeRows(const CodeRows& rows, int increment, int first_refused, bool streaming,
                   const CodeRuns<const std::uint8_t>& runs, std::uint8_t* array);

// The row at its place = array[row] - increment. False where a code is less than `increment`; the
// places are unspecified then. Rows may share a place: the last one stays.
bool LowerCodeRows(const CodeRows& rows, int increment, bool streaming, const std::uint8_t* array,
                   const CodeRuns<std::uint8_t>& runs);

// to[i] = from[i] + add modulo 256. Whether every code of `from` is in least .. most.
bool AddToCodes(const std::uint8_t* from, std::int64_t count, int add, int least, int most,
                bool streaming, std::uint8_t* to);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_CODE_ROWS_H_
