#ifndef LANEWISE_CHECKPOINT_RECIPES_NAME_PATTERN_H_
#define LANEWISE_CHECKPOINT_RECIPES_NAME_PATTERN_H_

// Patterns of tensor names with named captures, and templates that put captures back into names:
//
//   "model.layers.{layer#}.mlp.experts.{expert#}.{proj:gate_proj|up_proj}"
//
//   {name}        one or more characters, none of them a dot
//   {name#}       a decimal number without leading zeros
//   {name*}       one or more characters of any kind
//   {name:a|b}    one of the alternatives, which may hold dots
//
// Everything else stands for itself. In a template only {name} occurs.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace lanewise {

using Captures = std::map<std::string, std::string, std::less<>>;

class NamePattern {
 public:
  // Refuses braces that do not pair, a capture without a name or with the name of another, empty
  // alternatives, and more than two {name*}, which bounds the time of a match.
  static absl::StatusOr<NamePattern> Parse(std::string_view text);

  // The captures if all of `name` fits. Where it fits in several ways, earlier captures are as
  // short as they can be, and earlier alternatives come first. Names beyond 1024 bytes fit nothing.
  std::optional<Captures> Match(std::string_view name) const;

  bool HasCapture(std::string_view name) const;
  std::vector<std::string> CaptureNames() const;
  const std::string& text() const { return text_; }

 private:
  enum class Kind : uint8_t { kLiteral, kComponent, kNumber, kAny, kAlternatives };
  struct Piece {
    Kind kind;
    std::string text;                       // the literal, or the capture's name
    std::vector<std::string> alternatives;  // of kAlternatives
  };

  bool MatchFrom(size_t piece, std::string_view rest, Captures& captures) const;

  std::string text_;
  std::vector<Piece> pieces_;
};

class NameTemplate {
 public:
  static absl::StatusOr<NameTemplate> Parse(std::string_view text);

  // The text with each {name} replaced. A name that the captures lack becomes nothing.
  std::string Expand(const Captures& captures) const;

  std::vector<std::string> CaptureNames() const;
  bool HasCapture(std::string_view name) const;
  bool empty() const { return pieces_.empty(); }
  const std::string& text() const { return text_; }

 private:
  struct Piece {
    bool capture;
    std::string text;
  };

  std::string text_;
  std::vector<Piece> pieces_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RECIPES_NAME_PATTERN_H_
