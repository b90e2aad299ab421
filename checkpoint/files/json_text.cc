#include "checkpoint/files/json_text.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "checkpoint/files/text.h"
#include "nlohmann/json.hpp"

namespace lanewise {

absl::StatusOr<std::string> JsonString(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is not UTF-8, which JSON text has to be"));
  }
}

}  // namespace lanewise
