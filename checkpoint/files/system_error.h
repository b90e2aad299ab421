#ifndef LANEWISE_CHECKPOINT_FILES_SYSTEM_ERROR_H_
#define LANEWISE_CHECKPOINT_FILES_SYSTEM_ERROR_H_

// errno as a Status.

#include <string_view>

#include "absl/status/status.h"

namespace lanewise {

// "TEXT: No such file or directory"; the code is NotFound, PermissionDenied, AlreadyExists or
// ResourceExhausted where the error is one of those, and Internal otherwise.
absl::Status SystemError(int error_number, std::string_view text);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILES_SYSTEM_ERROR_H_
