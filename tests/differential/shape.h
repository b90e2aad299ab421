#ifndef LANEWISE_TESTS_DIFFERENTIAL_SHAPE_H_
#define LANEWISE_TESTS_DIFFERENTIAL_SHAPE_H_

// The shapes that an operation is tested on, as text:
//
//   M=1..16 N=16,32 K=128*{1,2,5}         the cross product: 16 x 2 x 3 shapes
//   rule=* K=32                           every word of the dimension
//   random 4: M=1..16 N=16*{1..20} K=96   four shapes drawn from that product, with the seed
//
// Entries stand on lines of their own or between semicolons; # begins a comment. Each entry gives
// every dimension of the operation, in any order. A list's items are numbers, ranges a..b, a number
// times a list in braces, or words of a dimension that has words.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace lanewise::differential {

// A named size; or, with words, a named choice: its value is the word's index.
struct Dimension {
  std::string name;
  std::vector<std::string> words = {};
};

class Shape {
 public:
  struct Value {
    std::string name;
    std::int64_t number;
    std::string text;  // the number, or the word
  };

  void Add(Value value) { values_.push_back(std::move(value)); }
  const std::vector<Value>& values() const { return values_; }

  std::optional<std::int64_t> Find(std::string_view name) const;
  // Of a dimension that the operation has; another name is -1.
  std::int64_t operator[](std::string_view name) const { return Find(name).value_or(-1); }

  // "M=1,K=32,rule=exact": a test's name.
  std::string Text() const;

 private:
  std::vector<Value> values_;
};

// The shapes of a text, in its order, each once. InvalidArgument names the entry
// and the character.
absl::StatusOr<std::vector<Shape>> ParseShapes(std::string_view text,
                                               const std::vector<Dimension>& dimensions,
                                               std::uint64_t seed);

// Shapes drawn from the text's `random` entries alone, `count` of each: what a nightly run
// goes on with.
absl::StatusOr<std::vector<Shape>> DrawShapes(std::string_view text,
                                              const std::vector<Dimension>& dimensions,
                                              std::uint64_t seed, int count);

// A shape from its own Text().
absl::StatusOr<Shape> ParseShape(std::string_view text, const std::vector<Dimension>& dimensions);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_SHAPE_H_
