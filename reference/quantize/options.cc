#include "reference/quantize/options.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"

namespace lanewise::reference {

QuantizeOptions DefaultQuantizeOptions(ElementFormat format) {
  QuantizeOptions options;
  options.format = format;
  options.maximum = LargestFinite(format);
  return options;
}

absl::Status ValidateQuantizeOptions(const QuantizeOptions& options) {
  const float largest = LargestFinite(options.format);
  if (!(options.maximum > 0.0f && options.maximum <= largest)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "quantizer maximum is ", options.maximum, ", expected above 0 and at most ", largest,
        ", the largest value of ", AbslView(ElementFormatName(options.format))));
  }
  if (!(std::isfinite(options.amax_floor) && options.amax_floor >= 0.0f)) {
    return absl::InvalidArgumentError(absl::StrCat("quantizer amax_floor is ", options.amax_floor,
                                                   ", expected a finite number of 0 or more"));
  }
  const bool nan_elements = options.non_finite == NonFinite::kNanElements ||
                            options.non_finite == NonFinite::kNanTopCode;
  if (nan_elements && options.format == ElementFormat::kE2m1) {
    return InvalidArgument("quantizer of e2m1, which has no NaN, for blocks whose NaN stays one");
  }
  if (options.smallest_code != 0 && options.smallest_code != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("quantizer smallest_code is ", options.smallest_code, ", expected 0 or 1"));
  }
  return absl::OkStatus();
}

}  // namespace lanewise::reference
