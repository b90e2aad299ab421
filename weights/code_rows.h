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

// array[row] = place(row) + increment, then padding; a row whose place is nullptr is all padding.
// False where a code is `first_refused` or more; the array is unspecified then. `array` has rows *
// memory_row_bytes bytes, which go past the caches if `streaming`.
bool RaiseCodeRows(const CodeRows& rows, int increment, int first_refused, bool streaming,
                   const std::function<const std::uint8_t*(std::int64_t row)>& place,
                   std::uint8_t* array);

// place(row) = array[row] - increment. False where a code is less than `increment`; the places are
// unspecified then. Rows may share a place: the last one stays.
bool LowerCodeRows(const CodeRows& rows, int increment, bool streaming, const std::uint8_t* array,
                   const std::function<std::uint8_t*(std::int64_t row)>& place);

// to[i] = from[i] + add modulo 256. Whether every code of `from` is in least .. most.
bool AddToCodes(const std::uint8_t* from, std::int64_t count, int add, int least, int most,
                bool streaming, std::uint8_t* to);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_CODE_ROWS_H_
