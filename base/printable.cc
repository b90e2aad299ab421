#include "base/printable.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace lanewise {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: the first byte begins no UTF-8
};

// The character that `text`, which is not empty, begins with.
Character FirstOf(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xC2 || first > 0xF4) return {};
  const std::size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < bytes) return {};
  std::uint32_t code = first & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  // Longer than it has to be, a surrogate, or past the last character.
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return {};
  return {code, bytes};
}

bool IsControl(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C ||  // Arabic letter mark
         (code >= 0x200E && code <= 0x200F) ||  // left-to-right and right-to-left mark
         (code >= 0x2028 && code <= 0x202E) ||  // ends of lines; embeddings and overrides
         (code >= 0x2066 && code <= 0x2069);    // isolates
}

void AppendEscaped(std::uint32_t code, std::string* text) {
  switch (code) {
    case '\n':
      *text += "\\n";
      break;
    case '\r':
      *text += "\\r";
      break;
    case '\t':
      *text += "\\t";
      break;
    default:
      if (code < 0x80) {
        absl::StrAppendFormat(text, "\\x%02X", code);
      } else {
        absl::StrAppendFormat(text, "\\u%04X", code);
      }
  }
}

std::string Escaped(std::string_view text, bool lines) {
  std::string printable;
  while (!text.empty()) {
    const Character character = FirstOf(text);
    if (character.bytes == 0) {
      absl::StrAppendFormat(&printable, "\\x%02X", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    const bool stays = lines && text.substr(0, 3) == "\n  ";
    if (IsControl(character.code) && !stays) {
      AppendEscaped(character.code, &printable);
    } else {
      printable.append(text.substr(0, character.bytes));
    }
    text.remove_prefix(character.bytes);
  }
  return printable;
}

}  // namespace

std::string Printable(std::string_view text) { return Escaped(text, /*lines=*/false); }

std::string PrintableLines(std::string_view text) { return Escaped(text, /*lines=*/true); }

}  // namespace lanewise
