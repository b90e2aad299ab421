#include "checkpoint/files/system_error.h"

#include <errno.h>

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace lanewise {

absl::Status SystemError(int error_number, std::string_view text) {
  const std::string message = absl::StrCat(
      AbslView(text), ": ", std::error_code(error_number, std::generic_category()).message());
  switch (error_number) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace lanewise
