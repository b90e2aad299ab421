#ifndef LANEWISE_TESTS_DIFFERENTIAL_REPORT_H_
#define LANEWISE_TESTS_DIFFERENTIAL_REPORT_H_

// Compares an output with what is expected and says in words what differs.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/differential/operation.h"

namespace lanewise::differential {

struct Difference {
  std::int64_t count = 0;   // elements that differ; 1 where padding bits alone do
  std::int64_t first = -1;  // the first of them, in memory; -1 where padding bits alone differ
  std::string text;         // several lines; empty where nothing differs
};

// `expected` has the tolerances of kWithin. Both are host memory of one argument.
Difference Compare(const Operand& expected, const void* got, const Shape& shape);

// Which indices of `flags` are set, of an axis of that name: "all 16 M", "k 96 and up", "row 3",
// "row 3..7", "row 0, 2, 4, 6, ... (32 of 64)".
std::string IndicesText(std::string_view axis, const std::vector<bool>& flags);

// Where an element lies: "[row 3, k 77] at tile=0 step=0 ...", or by the argument's extents.
std::string PlaceText(const Operand& operand, const Shape& shape, std::int64_t element);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_REPORT_H_
