#ifndef LANEWISE_TOOLS_VERIFY_DIFFERENCE_H_
#define LANEWISE_TOOLS_VERIFY_DIFFERENCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "layouts/bound_layout.h"

namespace lanewise::tools {

// How stored bytes differ from the expected ones: "" if they do not, else
//   "NAME: byte 4711 (tile=1 step=0 ...; row 3, k 77) is 0x12, expected 0x34; 5 of 8192 differ".
// `layout` gives the place in its own words; null: the offset alone.
std::string DifferenceText(std::string_view name, std::span<const std::uint8_t> expected,
                           std::span<const std::uint8_t> found, const BoundLayout* layout,
                           std::span<const std::string> axis_names);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_DIFFERENCE_H_
