#ifndef LANEWISE_WEIGHTS_ROW_SOURCE_H_
#define LANEWISE_WEIGHTS_ROW_SOURCE_H_

#include <cstdint>
#include <functional>
#include <span>

namespace lanewise {

// A row of little-endian bf16 and its scale codes.
struct Bf16Row {
  const std::uint8_t* values = nullptr;
  const std::uint8_t* codes = nullptr;
};

// Where the rows of a logical [rows, bytes] array come from. Rows may lie anywhere: in one tensor,
// gathered from several (gate and up, one tensor an expert), a slice of wider rows, or computed on
// demand.
struct RowSource {
  // The row's bytes, `valid_bytes` of them, or nullptr for a row of padding. `scratch`, as wide as
  // a row of the layout, is the callee's to fill where the row has to be computed; it stays valid
  // as long as the returned pointer is used. Called from several threads at once.
  std::function<const std::uint8_t*(std::int64_t row, std::uint8_t* scratch)> row;

  std::int64_t valid_bytes = 0;  // of each row; the rest of the layout's row is `padding`
  std::uint8_t padding = 0;
  bool computed = false;  // whether `row` writes to its scratch

  // Where `row` converts bf16 to the e4m3 bytes behind them (weights/bf16_rows.h): the row
  // unconverted, its values nullptr for a row of padding. A packer may then convert rows itself,
  // and calls `row` for those that are not exactly e4m3 x code.
  std::function<Bf16Row(std::int64_t row)> bf16;
  std::int64_t code_elements = 32;  // a scale code of a bf16 row stands for so many elements
};

// The rows of one contiguous row-major array.
inline RowSource ContiguousRows(std::span<const std::uint8_t> array, std::int64_t bytes_per_row) {
  RowSource source;
  source.row = [array, bytes_per_row](std::int64_t row, std::uint8_t*) {
    return array.data() + row * bytes_per_row;
  };
  source.valid_bytes = bytes_per_row;
  return source;
}

// Where unpacked rows go: a pointer to room for `valid_bytes`, or nullptr for a row that is not
// wanted. Bytes of the layout's row past valid_bytes are not written.
struct RowSink {
  std::function<std::uint8_t*(std::int64_t row)> row;
  std::int64_t valid_bytes = 0;
};

inline RowSink ContiguousSink(std::span<std::uint8_t> array, std::int64_t bytes_per_row) {
  return {[array, bytes_per_row](std::int64_t row) { return array.data() + row * bytes_per_row; },
          bytes_per_row};
}

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_ROW_SOURCE_H_
