#ifndef LANEWISE_BASE_TEXT_H_
#define LANEWISE_BASE_TEXT_H_

// Text across the seam between the standard library and Abseil. Debian's Abseil is built with a
// string_view type of its own, upstream's is std::string_view; code that calls these two functions
// compiles against both.

#include <string_view>

#include "absl/strings/string_view.h"

namespace lanewise {

// The same characters as a view that Abseil's functions take (StrCat, Status messages, ...).
inline absl::string_view AbslView(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

// The same characters as a standard view.
inline std::string_view StdView(absl::string_view text) {
  return std::string_view(text.data(), text.size());
}

}  // namespace lanewise

#endif  // LANEWISE_BASE_TEXT_H_
