#include "tests/differential/shape.h"

#include <algorithm>
#include <cctype>
#include <random>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"

namespace lanewise::differential {
namespace {

constexpr std::size_t kMostShapes = 100'000;

// One entry: for each dimension, in the operation's order, the values to choose from.
struct Entry {
  std::int64_t random = 0;  // how many to draw; 0: all
  std::vector<std::vector<std::int64_t>> choices;
};

class Parser {
 public:
  Parser(std::string_view text, const std::vector<Dimension>& dimensions)
      : text_(text), dimensions_(dimensions) {}

  absl::StatusOr<std::vector<Entry>> Run() {
    std::vector<Entry> entries;
    while (error_.ok() && at_ < text_.size()) {
      SkipSpace();
      if (at_ >= text_.size()) break;
      if (text_[at_] == ';' || text_[at_] == '\n') {
        ++at_;
      } else if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        entries.push_back(ReadEntry());
      }
    }
    if (!error_.ok()) return error_;
    return entries;
  }

 private:
  void Fail(std::size_t at, std::string_view what) {
    if (!error_.ok()) return;
    const std::size_t begin = text_.rfind('\n', at == 0 ? 0 : at - 1);
    const std::size_t line = begin == text_.npos || begin >= at ? 0 : begin + 1;
    error_ = InvalidArgument("shapes '", text_.substr(line, text_.find('\n', at) - line),
                             "', character ", at - line + 1, ": ", what);
    at_ = text_.size();
  }
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool Take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool AtEnd() const {
    return at_ >= text_.size() || text_[at_] == ';' || text_[at_] == '\n' || text_[at_] == '#';
  }
  std::string_view Word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  std::int64_t Number() {
    const std::size_t begin = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      value = 10 * value + (text_[at_++] - '0');
      if (at_ - begin > 15) break;
    }
    if (at_ == begin) Fail(at_, "expected a number");
    if (at_ - begin > 15) Fail(begin, "a number of more than 15 digits");
    return value;
  }

  Entry ReadEntry() {
    Entry entry;
    if (Take("random ")) {
      SkipSpace();
      const std::size_t count_at = at_;
      entry.random = Number();
      if (entry.random < 1 || entry.random > static_cast<std::int64_t>(kMostShapes)) {
        Fail(count_at, absl::StrCat(entry.random, " draws, expected 1 to ", kMostShapes));
      }
      if (error_.ok() && !Take(":")) Fail(at_, "expected ':' after the number of draws");
    }
    const std::size_t begin = at_;
    entry.choices.resize(dimensions_.size());
    SkipSpace();
    while (error_.ok() && !AtEnd()) {
      const std::size_t name_at = at_;
      const std::string_view name = Word();
      const auto found = std::find_if(dimensions_.begin(), dimensions_.end(),
                                      [&](const Dimension& d) { return d.name == name; });
      if (found == dimensions_.end()) {
        Fail(name_at,
             absl::StrCat("there is no dimension '", AbslView(name), "'; there are ", Names()));
        break;
      }
      auto& values = entry.choices[static_cast<std::size_t>(found - dimensions_.begin())];
      if (!values.empty()) {
        Fail(name_at, absl::StrCat("'", AbslView(name), "' stands twice"));
      } else if (!Take("=")) {
        Fail(at_, "expected '='");
      } else {
        List(*found, &values);
      }
      SkipSpace();
    }
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      if (entry.choices[i].empty()) {
        Fail(begin, absl::StrCat("the entry gives no '", dimensions_[i].name, "'"));
      }
    }
    return entry;
  }

  std::string Names() const {
    std::string names;
    for (const Dimension& d : dimensions_)
      absl::StrAppend(&names, names.empty() ? "" : ", ", d.name);
    return names;
  }

  void List(const Dimension& dimension, std::vector<std::int64_t>* values) {
    do {
      Item(dimension, values);
    } while (error_.ok() && Take(","));
  }

  void Item(const Dimension& dimension, std::vector<std::int64_t>* values) {
    if (!dimension.words.empty()) {
      if (Take("*")) {
        for (std::size_t i = 0; i < dimension.words.size(); ++i) {
          values->push_back(static_cast<std::int64_t>(i));
        }
        return;
      }
      const std::size_t begin = at_;
      const std::string_view word = Word();
      const auto found = std::find(dimension.words.begin(), dimension.words.end(), word);
      if (found == dimension.words.end()) {
        std::string words;
        for (const std::string& w : dimension.words) {
          absl::StrAppend(&words, words.empty() ? "" : ", ", w);
        }
        Fail(begin, absl::StrCat("'", dimension.name, "' is one of ", words, ", not '",
                                 AbslView(word), "'"));
      }
      values->push_back(found - dimension.words.begin());
      return;
    }
    const std::int64_t first = Number();
    if (Take("..")) {
      const std::size_t at = at_;
      const std::int64_t last = Number();
      if (last < first) Fail(at, absl::StrCat("the range ends at ", last, ", before ", first));
      if (last - first >= static_cast<std::int64_t>(kMostShapes)) Fail(at, "too long a range");
      for (std::int64_t v = first; error_.ok() && v <= last; ++v) values->push_back(v);
    } else if (Take("*{")) {
      std::vector<std::int64_t> inner;
      List(dimension, &inner);
      if (error_.ok() && !Take("}")) Fail(at_, "expected '}'");
      for (const std::int64_t v : inner) {
        std::int64_t product = 0;
        if (__builtin_mul_overflow(first, v, &product)) {
          Fail(at_, absl::StrCat(first, " times ", v, " passes 2^63"));
        }
        values->push_back(product);
      }
    } else {
      values->push_back(first);
    }
  }

  std::string_view text_;
  const std::vector<Dimension>& dimensions_;
  std::size_t at_ = 0;
  absl::Status error_;
};

Shape Choose(const Entry& entry, const std::vector<Dimension>& dimensions,
             const std::vector<std::size_t>& index) {
  Shape shape;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::int64_t number = entry.choices[i][index[i]];
    const std::vector<std::string>& words = dimensions[i].words;
    shape.Add({dimensions[i].name, number,
               words.empty() ? absl::StrCat(number) : words[static_cast<std::size_t>(number)]});
  }
  return shape;
}

}  // namespace

std::optional<std::int64_t> Shape::Find(std::string_view name) const {
  for (const Value& value : values_) {
    if (value.name == name) return value.number;
  }
  return std::nullopt;
}

std::string Shape::Text() const {
  std::string text;
  for (const Value& value : values_) {
    absl::StrAppend(&text, text.empty() ? "" : ",", value.name, "=", value.text);
  }
  return text.empty() ? "one" : text;
}

absl::StatusOr<std::vector<Shape>> ParseShapes(std::string_view text,
                                               const std::vector<Dimension>& dimensions,
                                               std::uint64_t seed) {
  LANEWISE_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Parser(text, dimensions).Run());
  std::vector<Shape> shapes;
  std::set<std::string> seen;
  const auto add = [&](Shape shape) {
    if (seen.insert(shape.Text()).second) shapes.push_back(std::move(shape));
  };
  std::mt19937_64 random(seed);
  for (const Entry& entry : entries) {
    std::vector<std::size_t> index(dimensions.size(), 0);
    for (std::int64_t i = 0; i < entry.random; ++i) {
      for (std::size_t d = 0; d < index.size(); ++d) index[d] = random() % entry.choices[d].size();
      add(Choose(entry, dimensions, index));
    }
    if (entry.random > 0) continue;
    while (true) {
      add(Choose(entry, dimensions, index));
      if (shapes.size() > kMostShapes) {
        return InvalidArgument("more than ", kMostShapes, " shapes");
      }
      std::size_t d = index.size();
      while (d > 0 && ++index[d - 1] == entry.choices[d - 1].size()) index[--d] = 0;
      if (d == 0) break;
    }
  }
  return shapes;
}

absl::StatusOr<std::vector<Shape>> DrawShapes(std::string_view text,
                                              const std::vector<Dimension>& dimensions,
                                              std::uint64_t seed, int count) {
  LANEWISE_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Parser(text, dimensions).Run());
  std::mt19937_64 random(seed);
  std::vector<Shape> shapes;
  for (const Entry& entry : entries) {
    std::vector<std::size_t> index(dimensions.size(), 0);
    for (int i = 0; entry.random > 0 && i < count; ++i) {
      for (std::size_t d = 0; d < index.size(); ++d) index[d] = random() % entry.choices[d].size();
      shapes.push_back(Choose(entry, dimensions, index));
    }
  }
  return shapes;
}

absl::StatusOr<Shape> ParseShape(std::string_view text, const std::vector<Dimension>& dimensions) {
  std::string spaced(text == "one" ? "" : text);
  std::replace(spaced.begin(), spaced.end(), ',', ' ');
  if (dimensions.empty()) return Shape();
  LANEWISE_ASSIGN_OR_RETURN(std::vector<Shape> shapes, ParseShapes(spaced, dimensions, 0));
  if (shapes.size() != 1) {
    return InvalidArgument("'", text, "' is ", shapes.size(), " shapes, expected one");
  }
  return shapes.front();
}

}  // namespace lanewise::differential
