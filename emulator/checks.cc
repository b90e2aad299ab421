#include "emulator/checks.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace lanewise::emulator {

absl::StatusOr<Checks> ParseChecks(std::string_view text) {
  if (text == "all") return kAllChecks;
  if (text == "none") return Checks{0};
  Checks checks = 0;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (name == "uninitialised") {
      checks |= kCheckUninitialised;
    } else if (name == "waits") {
      checks |= kCheckWaits;
    } else if (name == "races") {
      checks |= kCheckRaces;
    } else if (name == "alignment") {
      checks |= kCheckAlignment;
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown check \"", std::string(name),
          "\": expected all, none, or a list of uninitialised, waits, races, alignment"));
    }
  }
  return checks;
}

}  // namespace lanewise::emulator
