#include "checkpoint/recipes/name_pattern.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"

namespace lanewise {
namespace {

constexpr size_t kLongestName = 1024;
constexpr int kMostStars = 2;

struct RawPiece {
  bool capture;
  std::string text;  // between the braces, or outside
};

absl::StatusOr<std::vector<RawPiece>> Split(std::string_view text) {
  const auto refuse = [&](std::string_view problem) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern ", Quoted(text), ": ", AbslView(problem)));
  };
  std::vector<RawPiece> pieces;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t brace = rest.find_first_of("{}");
    if (brace != 0) {
      pieces.push_back({false, std::string(rest.substr(0, brace))});
      rest.remove_prefix(std::min(brace, rest.size()));
      continue;
    }
    if (rest.front() == '}') return refuse("a '}' without its '{'");
    const size_t end = rest.find_first_of("{}", 1);
    if (end == rest.npos || rest[end] == '{') return refuse("a '{' without its '}'");
    pieces.push_back({true, std::string(rest.substr(1, end - 1))});
    rest.remove_prefix(end + 1);
  }
  return pieces;
}

bool IsCaptureName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

absl::StatusOr<NamePattern> NamePattern::Parse(std::string_view text) {
  const auto refuse = [&](std::string_view problem) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern ", Quoted(text), ": ", AbslView(problem)));
  };
  absl::StatusOr<std::vector<RawPiece>> raw = Split(text);
  if (!raw.ok()) return raw.status();
  NamePattern pattern;
  pattern.text_ = text;
  int stars = 0;
  for (RawPiece& piece : *raw) {
    if (!piece.capture) {
      pattern.pieces_.push_back({Kind::kLiteral, std::move(piece.text), {}});
      continue;
    }
    std::string name = piece.text;
    Kind kind = Kind::kComponent;
    std::vector<std::string> alternatives;
    if (const size_t colon = name.find(':'); colon != name.npos) {
      kind = Kind::kAlternatives;
      std::string_view rest = std::string_view(piece.text).substr(colon + 1);
      name.resize(colon);
      while (true) {
        const size_t bar = rest.find('|');
        alternatives.emplace_back(rest.substr(0, bar));
        if (alternatives.back().empty()) return refuse("an empty alternative");
        if (bar == rest.npos) break;
        rest.remove_prefix(bar + 1);
      }
    } else if (name.ends_with('#')) {
      kind = Kind::kNumber;
      name.pop_back();
    } else if (name.ends_with('*')) {
      kind = Kind::kAny;
      name.pop_back();
      if (++stars > kMostStars) return refuse("more than two {name*}");
    }
    if (!IsCaptureName(name)) {
      return refuse(absl::StrCat("a capture's name is of a-z, 0-9 and _, found ", Quoted(name)));
    }
    if (pattern.HasCapture(name)) return refuse(absl::StrCat("two captures named ", Quoted(name)));
    pattern.pieces_.push_back({kind, std::move(name), std::move(alternatives)});
  }
  if (pattern.pieces_.empty()) return refuse("is empty");
  return pattern;
}

std::optional<Captures> NamePattern::Match(std::string_view name) const {
  if (name.size() > kLongestName) return std::nullopt;
  Captures captures;
  if (!MatchFrom(0, name, captures)) return std::nullopt;
  return captures;
}

bool NamePattern::MatchFrom(size_t piece, std::string_view rest, Captures& captures) const {
  if (piece == pieces_.size()) return rest.empty();
  const Piece& now = pieces_[piece];
  // Takes `size` characters for this piece and tries the others on what is left.
  const auto take = [&](size_t size) {
    if (!MatchFrom(piece + 1, rest.substr(size), captures)) return false;
    if (now.kind != Kind::kLiteral) captures.emplace(now.text, rest.substr(0, size));
    return true;
  };
  switch (now.kind) {
    case Kind::kLiteral:
      return rest.starts_with(now.text) && take(now.text.size());
    case Kind::kAlternatives:
      return std::any_of(
          now.alternatives.begin(), now.alternatives.end(),
          [&](const std::string& text) { return rest.starts_with(text) && take(text.size()); });
    case Kind::kNumber: {
      // All digits there are: a number ends where its digits do.
      size_t size = 0;
      while (size < rest.size() && rest[size] >= '0' && rest[size] <= '9') ++size;
      return size > 0 && (rest[0] != '0' || size == 1) && take(size);
    }
    case Kind::kComponent:
      for (size_t size = 1; size <= rest.size() && rest[size - 1] != '.'; ++size) {
        if (take(size)) return true;
      }
      return false;
    case Kind::kAny:
      for (size_t size = 1; size <= rest.size(); ++size) {
        if (take(size)) return true;
      }
      return false;
  }
  return false;
}

bool NamePattern::HasCapture(std::string_view name) const {
  return std::any_of(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    return piece.kind != Kind::kLiteral && piece.text == name;
  });
}

std::vector<std::string> NamePattern::CaptureNames() const {
  std::vector<std::string> names;
  for (const Piece& piece : pieces_) {
    if (piece.kind != Kind::kLiteral) names.push_back(piece.text);
  }
  return names;
}

absl::StatusOr<NameTemplate> NameTemplate::Parse(std::string_view text) {
  absl::StatusOr<std::vector<RawPiece>> raw = Split(text);
  if (!raw.ok()) return raw.status();
  NameTemplate result;
  result.text_ = text;
  for (RawPiece& piece : *raw) {
    if (piece.capture && !IsCaptureName(piece.text)) {
      return absl::InvalidArgumentError(
          absl::StrCat("template ", Quoted(text), ": holds only {name}, found {", piece.text, "}"));
    }
    result.pieces_.push_back({piece.capture, std::move(piece.text)});
  }
  return result;
}

std::string NameTemplate::Expand(const Captures& captures) const {
  std::string name;
  for (const Piece& piece : pieces_) {
    if (!piece.capture) {
      name += piece.text;
    } else if (const auto found = captures.find(piece.text); found != captures.end()) {
      name += found->second;
    }
  }
  return name;
}

std::vector<std::string> NameTemplate::CaptureNames() const {
  std::vector<std::string> names;
  for (const Piece& piece : pieces_) {
    if (piece.capture) names.push_back(piece.text);
  }
  return names;
}

bool NameTemplate::HasCapture(std::string_view name) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [&](const Piece& piece) { return piece.capture && piece.text == name; });
}

}  // namespace lanewise
