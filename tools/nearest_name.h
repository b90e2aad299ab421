#ifndef LANEWISE_TOOLS_NEAREST_NAME_H_
#define LANEWISE_TOOLS_NEAREST_NAME_H_

#include <span>
#include <string>
#include <string_view>

namespace lanewise::tools {

// The name that was probably meant: the one that the fewest letters inserted, left out or replaced
// make of `found`, at most 2 of them; of several the first, and "" if there is none.
std::string NearestName(std::string_view found, std::span<const std::string> names);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_NEAREST_NAME_H_
