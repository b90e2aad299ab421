#ifndef LANEWISE_BASE_STATUS_H_
#define LANEWISE_BASE_STATUS_H_

// Refusing and handing on a refusal, each in one line:
//
//   absl::StatusOr<Plan> PlanLinear(std::string_view name, absl::StatusOr<Source> source) {
//     LANEWISE_ASSIGN_OR_RETURN(const Source read, std::move(source));
//     if (read.k % 32 != 0) return InvalidArgument(name, ": K is ", read.k, ", no multiple of 32");
//     LANEWISE_RETURN_IF_ERROR(CheckCodes(read));
//     ...
//   }
//
// The parts of a message are what absl::StrCat takes, and std::string_view too, which Debian's
// Abseil does not take (base/text.h).

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace lanewise {

// The parts one after the other.
template <typename... Parts>
std::string Message(const Parts&... parts) {
  const auto part = []<typename Part>(const Part& value) -> decltype(auto) {
    if constexpr (std::is_same_v<Part, std::string_view>) {
      return AbslView(value);
    } else {
      return (value);
    }
  };
  return absl::StrCat(part(parts)...);
}

// What a caller gave is wrong: names it, what was found and what was expected.
template <typename... Parts>
absl::Status InvalidArgument(const Parts&... parts) {
  return absl::InvalidArgumentError(Message(parts...));
}

// What was asked for is not there.
template <typename... Parts>
absl::Status NotFound(const Parts&... parts) {
  return absl::NotFoundError(Message(parts...));
}

// The request is sound, but not in this state of things (a file in the way, a device that is gone).
template <typename... Parts>
absl::Status FailedPrecondition(const Parts&... parts) {
  return absl::FailedPreconditionError(Message(parts...));
}

// The request is sound, and nothing here serves it.
template <typename... Parts>
absl::Status Unimplemented(const Parts&... parts) {
  return absl::UnimplementedError(Message(parts...));
}

// Bytes that are not what they were said to be (a digest, a header).
template <typename... Parts>
absl::Status DataLoss(const Parts&... parts) {
  return absl::DataLossError(Message(parts...));
}

// A mistake of this project's own.
template <typename... Parts>
absl::Status Internal(const Parts&... parts) {
  return absl::InternalError(Message(parts...));
}

}  // namespace lanewise

// Returns the status of EXPRESSION, an absl::Status, from the calling function unless it is OK.
#define LANEWISE_RETURN_IF_ERROR(...)                                                      \
  if (absl::Status lanewise_status = (__VA_ARGS__); lanewise_status.ok()) {                \
  } else /* NOLINT: the else keeps an if around the macro from taking one of its caller */ \
    return lanewise_status

// LANEWISE_ASSIGN_OR_RETURN(DECLARATION, EXPRESSION): DECLARATION = the value of EXPRESSION, an
// absl::StatusOr, or returns its status from the calling function. Two statements: it wants braces
// where it is the body of an if.
#define LANEWISE_ASSIGN_OR_RETURN(declaration, ...)                                              \
  LANEWISE_ASSIGN_OR_RETURN_IN_(LANEWISE_NAME_AT_LINE_(lanewise_result_, __LINE__), declaration, \
                                __VA_ARGS__)

#define LANEWISE_ASSIGN_OR_RETURN_IN_(result, declaration, ...) \
  auto result = (__VA_ARGS__);                                  \
  if (!result.ok()) return std::move(result).status();          \
  declaration = *std::move(result)

#define LANEWISE_NAME_AT_LINE_(name, line) LANEWISE_JOINED_(name, line)
#define LANEWISE_JOINED_(a, b) a##b

#endif  // LANEWISE_BASE_STATUS_H_
