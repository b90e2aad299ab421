#include "tests/differential/expression.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"

namespace lanewise::differential {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 62;

class Parser {
 public:
  Parser(std::string_view text,
         const std::function<std::optional<std::int64_t>(std::string_view)>& value_of)
      : text_(text), value_of_(value_of) {}

  absl::StatusOr<std::int64_t> Run() {
    const std::int64_t value = Sum();
    Skip();
    if (error_.ok() && at_ < text_.size()) Fail("expected an operator or the end");
    if (!error_.ok()) return error_;
    return value;
  }

 private:
  void Fail(std::string_view what) {
    if (!error_.ok()) return;
    error_ = InvalidArgument("'", text_, "', character ", at_ + 1, ": ", what);
    at_ = text_.size();
  }
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::int64_t Checked(std::int64_t a, std::int64_t b, bool overflow, std::int64_t result) {
    if (overflow || result > kMost || result < -kMost) {
      Fail(absl::StrCat(a, " and ", b, " give more than 2^62"));
      return 0;
    }
    return result;
  }
  std::int64_t Multiply(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    const bool overflow = __builtin_mul_overflow(a, b, &result);
    return Checked(a, b, overflow, result);
  }
  // a / b rounded down, or up.
  std::int64_t Divide(std::int64_t a, std::int64_t b, bool up) {
    if (b <= 0) {
      Fail(absl::StrCat("division by ", b));
      return 0;
    }
    const std::int64_t quotient = a / b, rest = a % b;
    if (up) return quotient + (rest > 0 ? 1 : 0);
    return quotient - (rest < 0 ? 1 : 0);
  }

  std::int64_t Sum() {
    std::int64_t value = Product();
    while (error_.ok()) {
      const bool plus = Take('+');
      if (!plus && !Take('-')) return value;
      const std::int64_t next = Product();
      value = Checked(value, next, false, plus ? value + next : value - next);
    }
    return 0;
  }

  std::int64_t Product() {
    std::int64_t value = Unit();
    while (error_.ok()) {
      if (Take('*')) {
        value = Multiply(value, Unit());
      } else if (Take('/')) {
        value = Divide(value, Unit(), false);
      } else if (Take('%')) {
        const std::int64_t by = Unit();
        value -= Multiply(Divide(value, by, false), by);
      } else {
        return value;
      }
    }
    return 0;
  }

  std::int64_t Unit() {
    if (++depth_ > 100) Fail("nested too deeply");
    Skip();
    std::int64_t value = 0;
    const std::size_t begin = at_;
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
        value = Checked(value, 10, false, Multiply(value, 10) + (text_[at_++] - '0'));
      }
    } else if (Take('-')) {
      value = -Unit();
    } else if (Take('(')) {
      value = Sum();
      if (error_.ok() && !Take(')')) Fail("expected ')'");
    } else {
      while (at_ < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
        ++at_;
      }
      const std::string_view name = text_.substr(begin, at_ - begin);
      if (name.empty()) {
        Fail("expected a number, a dimension or '('");
      } else if (Take('(')) {
        value = Call(name, begin);
      } else if (const std::optional<std::int64_t> found = value_of_(name)) {
        value = *found;
      } else {
        at_ = begin;
        Fail(absl::StrCat("there is no dimension '", AbslView(name), "'"));
      }
    }
    --depth_;
    return value;
  }

  std::int64_t Call(std::string_view function, std::size_t begin) {
    const std::int64_t a = Sum();
    if (error_.ok() && !Take(',')) Fail("expected ','");
    const std::int64_t b = Sum();
    if (error_.ok() && !Take(')')) Fail("expected ')'");
    if (!error_.ok()) return 0;
    if (function == "ceil") return Divide(a, b, true);
    if (function == "roundup") return Multiply(Divide(a, b, true), b);
    if (function == "min") return std::min(a, b);
    if (function == "max") return std::max(a, b);
    at_ = begin;
    Fail(absl::StrCat("there is no function '", AbslView(function),
                      "'; there are ceil, roundup, min and max"));
    return 0;
  }

  std::string_view text_;
  const std::function<std::optional<std::int64_t>(std::string_view)>& value_of_;
  std::size_t at_ = 0;
  int depth_ = 0;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<std::int64_t> Evaluate(
    std::string_view text,
    const std::function<std::optional<std::int64_t>(std::string_view name)>& value_of) {
  return Parser(text, value_of).Run();
}

}  // namespace lanewise::differential
