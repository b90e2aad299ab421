#ifndef LANEWISE_LAYOUTS_PATTERN_H_
#define LANEWISE_LAYOUTS_PATTERN_H_

// A byte order as one line of text. For example, the order in which the gfx942 GEMV reads its
// weights:
//
//   row(tile r:16) k(step half:2 block:2 group:4 byte:8) -> tile step half group r block byte
//
// Left of the arrow stand the logical axes, outermost first: here a matrix indexed [row][k]. Each
// axis is split into named factors, outermost first, so that row = 16 tile + r and k = 128 step +
// 64 half + 32 block + 8 group + byte. Right of the arrow stands the order of the same factors in
// memory, outermost first: `byte` runs fastest.
//
//   r:16         a factor of 16 values
//   tile         an open factor: as many values as the axis has room for; outermost of its axis
//   only block:blocks a factor whose size, the parameter `blocks`, is given when the pattern is
//   bound row(...)     an axis called row; an axis of one factor may be that factor alone: `byte`,
//   `half:2`
//
// A pattern is a bijection by construction: every factor stands exactly once on each side. It is
// parsed at compile time, and a wrong one does not compile; the error names a function of
// pattern_error below, which says what is wrong. ParsePattern does the same for text known only at
// run time.
//
// Everything here is constexpr and data: usable on the host, in device code, and as a template
// argument.

#include <cstdint>
#include <string_view>

namespace lanewise {

inline constexpr int kMaxAxes = 4;
inline constexpr int kMaxFactors = 12;

// A short identifier held by value, so that a Pattern can be a template argument.
struct Name {
  static constexpr int kCapacity = 15;
  char text[kCapacity + 1] = {};

  constexpr std::string_view view() const { return std::string_view(text); }
  constexpr bool empty() const { return text[0] == '\0'; }
  friend constexpr bool operator==(const Name& a, const Name& b) { return a.view() == b.view(); }
};

struct Factor {
  Name name;
  int axis = 0;
  std::int64_t size = 0;  // 0: open, or given by `parameter` when the pattern is bound
  Name parameter;         // empty unless the size is a parameter

  constexpr bool IsOpen() const { return size == 0 && parameter.empty(); }
};

// What can be wrong with a pattern's text.
enum class PatternFault {
  kNone,
  kNameExpected,
  kNameTooLong,
  kSizeExpected,
  kSizeNotPositive,
  kSizeTooLarge,
  kUnbalancedParenthesis,
  kArrowExpected,
  kFactorNamedTwiceOnTheLeft,
  kAxisNamedTwice,
  kFactorOnTheRightIsNotOnTheLeft,
  kFactorNamedTwiceOnTheRight,
  kFactorMissingOnTheRight,
  kOnlyTheOutermostFactorMayBeOpen,
  kTooManyAxes,
  kTooManyFactors,
};

struct PatternParse;

struct Pattern {
  int axes = 0;
  int factors = 0;
  Name axis_name[kMaxAxes];
  Factor factor[kMaxFactors];          // as on the left: axis by axis, outermost first
  int memory_order[kMaxFactors] = {};  // indices into `factor`, outermost in memory first

  constexpr Pattern() = default;

  // From a literal, at compile time; a fault in it is a compile error that names the fault.
  template <int kLength>
  consteval Pattern(const char (&text)[kLength]);  // NOLINT(google-explicit-constructor)

  // The index of the factor or axis of this name, or -1.
  constexpr int FactorNamed(std::string_view name) const {
    for (int i = 0; i < factors; ++i) {
      if (factor[i].name.view() == name) return i;
    }
    return -1;
  }
  constexpr int AxisNamed(std::string_view name) const {
    for (int i = 0; i < axes; ++i) {
      if (axis_name[i].view() == name) return i;
    }
    return -1;
  }

  // The index of the axis's first (outermost) factor, and one past its last.
  constexpr int FirstFactor(int axis) const {
    int i = 0;
    while (factor[i].axis < axis) ++i;
    return i;
  }
  constexpr int EndFactor(int axis) const {
    int i = FirstFactor(axis);
    while (i < factors && factor[i].axis == axis) ++i;
    return i;
  }

  // Whether the axis takes extents of any number of its fixed factors' product, and that product;
  // of a pattern whose parameters have sizes.
  constexpr bool HasOpenFactor(int axis) const { return factor[FirstFactor(axis)].IsOpen(); }
  constexpr std::int64_t FixedSize(int axis) const {
    std::int64_t size = 1;
    for (int i = FirstFactor(axis); i < EndFactor(axis); ++i) {
      if (!factor[i].IsOpen()) size *= factor[i].size;
    }
    return size;
  }

  // The same pattern with the parameter given this size. Other parameters stay.
  constexpr Pattern WithParameter(std::string_view parameter, std::int64_t size) const {
    Pattern result = *this;
    for (int i = 0; i < factors; ++i) {
      if (!factor[i].parameter.empty() && factor[i].parameter.view() == parameter) {
        result.factor[i].size = size;
        result.factor[i].parameter = Name();
      }
    }
    return result;
  }
};

struct PatternParse {
  Pattern pattern;
  PatternFault fault = PatternFault::kNone;
  int position = 0;  // where in the text the fault was noticed, counted from 0
};

namespace internal {

class PatternParser {
 public:
  constexpr explicit PatternParser(std::string_view text) : text_(text) {}

  constexpr PatternParse Parse() {
    while (result_.fault == PatternFault::kNone && !AtArrow()) ParseAxis();
    if (result_.fault == PatternFault::kNone) ParseMemoryOrder();
    return result_;
  }

 private:
  constexpr Pattern& pattern() { return result_.pattern; }

  constexpr void Fail(PatternFault fault, int position) {
    if (result_.fault != PatternFault::kNone) return;
    result_.fault = fault;
    result_.position = position;
  }

  constexpr void SkipSpaces() {
    while (at_ < Size() && text_[at_] == ' ') ++at_;
  }
  constexpr int Size() const { return static_cast<int>(text_.size()); }

  constexpr bool Eat(char c) {
    if (at_ >= Size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Consumes "->". Text that ends before one is a fault.
  constexpr bool AtArrow() {
    SkipSpaces();
    if (at_ >= Size()) {
      Fail(PatternFault::kArrowExpected, at_);
      return false;
    }
    if (text_[at_] != '-') return false;
    ++at_;
    if (!Eat('>')) Fail(PatternFault::kArrowExpected, at_);
    return true;
  }

  static constexpr bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }
  static constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  constexpr Name ParseName() {
    SkipSpaces();
    const int begin = at_;
    if (at_ >= Size() || !IsNameStart(text_[at_])) {
      Fail(PatternFault::kNameExpected, at_);
      return Name();
    }
    Name name;
    while (at_ < Size() && (IsNameStart(text_[at_]) || IsDigit(text_[at_]))) {
      if (at_ - begin >= Name::kCapacity) {
        Fail(PatternFault::kNameTooLong, begin);
        return Name();
      }
      name.text[at_ - begin] = text_[at_];
      ++at_;
    }
    return name;
  }

  constexpr void ParseSize(Factor* factor) {
    SkipSpaces();
    if (at_ < Size() && IsNameStart(text_[at_])) {
      factor->parameter = ParseName();
      return;
    }
    const int begin = at_;
    while (at_ < Size() && IsDigit(text_[at_])) {
      factor->size = factor->size * 10 + (text_[at_++] - '0');
      if (factor->size > kMaxSize) return Fail(PatternFault::kSizeTooLarge, begin);
    }
    if (at_ == begin) return Fail(PatternFault::kSizeExpected, begin);
    if (factor->size == 0) Fail(PatternFault::kSizeNotPositive, begin);
  }

  // name, name:16 or name:parameter, as the next factor of axis pattern().axes.
  constexpr void ParseFactor(Name name, int begin, bool outermost) {
    if (pattern().FactorNamed(name.view()) >= 0) {
      return Fail(PatternFault::kFactorNamedTwiceOnTheLeft, begin);
    }
    if (pattern().factors == kMaxFactors) return Fail(PatternFault::kTooManyFactors, begin);
    Factor factor;
    factor.name = name;
    factor.axis = pattern().axes;
    if (Eat(':')) ParseSize(&factor);
    if (factor.IsOpen() && !outermost) {
      return Fail(PatternFault::kOnlyTheOutermostFactorMayBeOpen, begin);
    }
    pattern().factor[pattern().factors++] = factor;
  }

  constexpr void ParseAxis() {
    SkipSpaces();
    const int begin = at_;
    const Name name = ParseName();
    if (result_.fault != PatternFault::kNone) return;
    if (pattern().AxisNamed(name.view()) >= 0) return Fail(PatternFault::kAxisNamedTwice, begin);
    if (pattern().axes == kMaxAxes) return Fail(PatternFault::kTooManyAxes, begin);
    if (Eat('(')) {
      const int first = pattern().factors;
      while (true) {
        SkipSpaces();
        if (Eat(')')) break;
        if (at_ >= Size() || text_[at_] == '-' || text_[at_] == '(') {
          return Fail(PatternFault::kUnbalancedParenthesis, begin);
        }
        const int factor_begin = at_;
        const Name factor_name = ParseName();
        if (result_.fault != PatternFault::kNone) return;
        ParseFactor(factor_name, factor_begin, pattern().factors == first);
        if (result_.fault != PatternFault::kNone) return;
      }
      if (pattern().factors == first) return Fail(PatternFault::kNameExpected, at_ - 1);
    } else {
      ParseFactor(name, begin, true);
    }
    if (at_ < Size() && text_[at_] == ')') return Fail(PatternFault::kUnbalancedParenthesis, at_);
    pattern().axis_name[pattern().axes++] = name;
  }

  constexpr void ParseMemoryOrder() {
    bool placed[kMaxFactors] = {};
    int count = 0;
    for (SkipSpaces(); at_ < Size(); SkipSpaces()) {
      const int begin = at_;
      const Name name = ParseName();
      if (result_.fault != PatternFault::kNone) return;
      const int factor = pattern().FactorNamed(name.view());
      if (factor < 0) return Fail(PatternFault::kFactorOnTheRightIsNotOnTheLeft, begin);
      if (placed[factor]) return Fail(PatternFault::kFactorNamedTwiceOnTheRight, begin);
      placed[factor] = true;
      pattern().memory_order[count++] = factor;
    }
    if (count != pattern().factors || count == 0) Fail(PatternFault::kFactorMissingOnTheRight, at_);
  }

  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 32;

  std::string_view text_;
  int at_ = 0;
  PatternParse result_;
};

// Never defined and not constexpr: reaching one while a literal is parsed is the compile error.
namespace pattern_error {
void a_name_of_lower_case_letters_is_expected();
void a_name_is_longer_than_15_letters();
void a_size_or_a_parameter_is_expected_after_the_colon();
void a_size_is_zero();
void a_size_is_above_2_to_the_32();
void a_parenthesis_is_not_balanced();
void an_arrow_is_expected();
void a_factor_is_named_twice_on_the_left();
void an_axis_is_named_twice();
void a_factor_on_the_right_is_not_on_the_left();
void a_factor_is_named_twice_on_the_right();
void a_factor_is_missing_on_the_right();
void only_the_outermost_factor_of_an_axis_may_be_open();
void there_are_more_than_4_axes();
void there_are_more_than_12_factors();
}  // namespace pattern_error

constexpr void ReportFault(PatternFault fault) {
  switch (fault) {
    case PatternFault::kNone:
      return;
    case PatternFault::kNameExpected:
      return pattern_error::a_name_of_lower_case_letters_is_expected();
    case PatternFault::kNameTooLong:
      return pattern_error::a_name_is_longer_than_15_letters();
    case PatternFault::kSizeExpected:
      return pattern_error::a_size_or_a_parameter_is_expected_after_the_colon();
    case PatternFault::kSizeNotPositive:
      return pattern_error::a_size_is_zero();
    case PatternFault::kSizeTooLarge:
      return pattern_error::a_size_is_above_2_to_the_32();
    case PatternFault::kUnbalancedParenthesis:
      return pattern_error::a_parenthesis_is_not_balanced();
    case PatternFault::kArrowExpected:
      return pattern_error::an_arrow_is_expected();
    case PatternFault::kFactorNamedTwiceOnTheLeft:
      return pattern_error::a_factor_is_named_twice_on_the_left();
    case PatternFault::kAxisNamedTwice:
      return pattern_error::an_axis_is_named_twice();
    case PatternFault::kFactorOnTheRightIsNotOnTheLeft:
      return pattern_error::a_factor_on_the_right_is_not_on_the_left();
    case PatternFault::kFactorNamedTwiceOnTheRight:
      return pattern_error::a_factor_is_named_twice_on_the_right();
    case PatternFault::kFactorMissingOnTheRight:
      return pattern_error::a_factor_is_missing_on_the_right();
    case PatternFault::kOnlyTheOutermostFactorMayBeOpen:
      return pattern_error::only_the_outermost_factor_of_an_axis_may_be_open();
    case PatternFault::kTooManyAxes:
      return pattern_error::there_are_more_than_4_axes();
    case PatternFault::kTooManyFactors:
      return pattern_error::there_are_more_than_12_factors();
  }
}

}  // namespace internal

// Parses `text`; on a fault the result's pattern is unspecified.
constexpr PatternParse ParsePattern(std::string_view text) {
  return internal::PatternParser(text).Parse();
}

template <int kLength>
consteval Pattern::Pattern(const char (&text)[kLength]) {
  const PatternParse parse = ParsePattern(std::string_view(text, kLength - 1));
  internal::ReportFault(parse.fault);
  *this = parse.pattern;
}

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_PATTERN_H_
