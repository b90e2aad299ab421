#include "hip/common/check_swiglu.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace lanewise::hip {
namespace {

absl::Status Refuse(std::string_view name, std::string_view field, float found,
                    std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(AbslView(name), ".", AbslView(field), " is ",
                                                 found, ", expected ", AbslView(expected)));
}

}  // namespace

absl::Status CheckSwiglu(std::string_view name, const Swiglu& swiglu) {
  if (!(swiglu.limit >= 0)) return Refuse(name, "limit", swiglu.limit, "0 or more");
  if (!std::isfinite(swiglu.alpha)) return Refuse(name, "alpha", swiglu.alpha, "a finite number");
  if (!std::isfinite(swiglu.up_offset)) {
    return Refuse(name, "up_offset", swiglu.up_offset, "a finite number");
  }
  return absl::OkStatus();
}

}  // namespace lanewise::hip
