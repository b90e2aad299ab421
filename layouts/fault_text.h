#ifndef LANEWISE_LAYOUTS_FAULT_TEXT_H_
#define LANEWISE_LAYOUTS_FAULT_TEXT_H_

#include <string_view>

#include "layouts/pattern_fault.h"

namespace lanewise {

// What is wrong, in words: "an arrow (->) is expected".
std::string_view FaultText(PatternFault fault);

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_FAULT_TEXT_H_
