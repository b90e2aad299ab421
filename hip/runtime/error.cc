#include "hip/runtime/error.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace lanewise::hip {
namespace {

absl::StatusCode CodeOf(hipError_t error) {
  switch (error) {
    case hipErrorInvalidValue:
    case hipErrorInvalidConfiguration:
    case hipErrorInvalidImage:
    case hipErrorInvalidHandle:
      return absl::StatusCode::kInvalidArgument;
    case hipErrorOutOfMemory:
      return absl::StatusCode::kResourceExhausted;
    case hipErrorNoDevice:
    case hipErrorNotInitialized:
      return absl::StatusCode::kUnavailable;
    case hipErrorNotFound:
    case hipErrorInvalidDevice:
    case hipErrorFileNotFound:
      return absl::StatusCode::kNotFound;
    case hipErrorNotSupported:
      return absl::StatusCode::kUnimplemented;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status ToStatus(hipError_t error, std::string_view what) {
  if (error == hipSuccess) return absl::OkStatus();
  const std::string report = BackendReport();
  return absl::Status(CodeOf(error), absl::StrCat(AbslView(what), ": ", hipGetErrorName(error),
                                                  " (", hipGetErrorString(error), ")",
                                                  report.empty() ? "" : ": ", report));
}

}  // namespace lanewise::hip
