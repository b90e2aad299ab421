#ifndef LANEWISE_LAYOUTS_PATTERN_SCANNER_H_
#define LANEWISE_LAYOUTS_PATTERN_SCANNER_H_

// The words of which patterns and lanes are written: names, sizes and parentheses. For
// layouts/pattern.h and layouts/lanes.h, which say what they mean.

#include <cstdint>
#include <string_view>

#include "layouts/pattern_fault.h"

namespace lanewise {

// A short identifier held by value, so that what holds it can be a template argument.
struct Name {
  static constexpr int kCapacity = 15;
  char text[kCapacity + 1] = {};

  constexpr std::string_view view() const { return std::string_view(text); }
  constexpr bool empty() const { return text[0] == '\0'; }
  friend constexpr bool operator==(const Name& a, const Name& b) { return a.view() == b.view(); }
};

namespace internal {

// Reads a text from its beginning and remembers the first fault and where it was noticed.
class PatternScanner {
 public:
  constexpr explicit PatternScanner(std::string_view text) : text_(text) {}

  constexpr PatternFault fault() const { return fault_; }
  constexpr bool ok() const { return fault_ == PatternFault::kNone; }
  constexpr int fault_position() const { return fault_position_; }
  constexpr int at() const { return at_; }

  constexpr void Fail(PatternFault fault, int position) {
    if (!ok()) return;
    fault_ = fault;
    fault_position_ = position;
  }

  constexpr void SkipSpaces() {
    while (!AtEnd() && text_[at_] == ' ') ++at_;
  }
  constexpr bool AtEnd() const { return at_ >= static_cast<int>(text_.size()); }
  constexpr bool Sees(char c) const { return !AtEnd() && text_[at_] == c; }
  constexpr bool SeesName() const { return !AtEnd() && IsNameStart(text_[at_]); }

  constexpr bool Eat(char c) {
    if (!Sees(c)) return false;
    ++at_;
    return true;
  }

  constexpr Name ParseName() {
    SkipSpaces();
    const int begin = at_;
    if (!SeesName()) {
      Fail(PatternFault::kNameExpected, at_);
      return Name();
    }
    Name name;
    while (!AtEnd() && (IsNameStart(text_[at_]) || IsDigit(text_[at_]))) {
      if (at_ - begin >= Name::kCapacity) {
        Fail(PatternFault::kNameTooLong, begin);
        return Name();
      }
      name.text[at_ - begin] = text_[at_];
      ++at_;
    }
    return name;
  }

  // A positive number.
  constexpr std::int64_t ParseSize() {
    SkipSpaces();
    const int begin = at_;
    std::int64_t size = 0;
    while (!AtEnd() && IsDigit(text_[at_])) {
      size = size * 10 + (text_[at_++] - '0');
      if (size > kMaxSize) {
        Fail(PatternFault::kSizeTooLarge, begin);
        return 0;
      }
    }
    if (at_ == begin) {
      Fail(PatternFault::kSizeExpected, begin);
    } else if (size == 0) {
      Fail(PatternFault::kSizeNotPositive, begin);
    }
    return size;
  }

 private:
  static constexpr bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }
  static constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 32;

  std::string_view text_;
  int at_ = 0;
  PatternFault fault_ = PatternFault::kNone;
  int fault_position_ = 0;
};

}  // namespace internal
}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_PATTERN_SCANNER_H_
