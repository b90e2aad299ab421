#include "checkpoint/files/text.h"

#include <cstddef>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable.h"
#include "base/text.h"

namespace lanewise {

std::string Quoted(std::string_view name) {
  constexpr size_t kLongest = 200;
  if (name.size() <= kLongest) {
    return absl::StrCat("'", Printable(absl::Utf8SafeCEscape(AbslView(name))), "'");
  }
  return absl::StrCat("'", Printable(absl::Utf8SafeCEscape(AbslView(name.substr(0, kLongest)))),
                      "...' (", name.size(), " bytes)");
}

std::string DimensionsText(std::span<const int64_t> shape) {
  // A rank can be as large as a header: the first dimensions say enough.
  constexpr size_t kMost = 16;
  const std::span<const int64_t> shown = shape.first(shape.size() < kMost ? shape.size() : kMost);
  return absl::StrCat("[", absl::StrJoin(shown, ", "), shown.size() < shape.size() ? ", ..." : "",
                      "]");
}

absl::Status OfTensor(std::string_view tensor, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(Printable(tensor), ": ", status.message()));
}

}  // namespace lanewise
