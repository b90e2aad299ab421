#ifndef LANEWISE_HIP_COMMON_CHECK_SWIGLU_H_
#define LANEWISE_HIP_COMMON_CHECK_SWIGLU_H_

#include <string_view>

#include "absl/status/status.h"
#include "semantics/swiglu.h"

namespace lanewise::hip {

// OK, or InvalidArgument naming `swiglu`'s field: its limit is 0 or more, alpha and up_offset are
// finite.
absl::Status CheckSwiglu(std::string_view name, const Swiglu& swiglu);

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_CHECK_SWIGLU_H_
