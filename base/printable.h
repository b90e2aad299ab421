#ifndef LANEWISE_BASE_PRINTABLE_H_
#define LANEWISE_BASE_PRINTABLE_H_

// Text that came from outside (names of tensors, paths, messages that quote them), fit for a
// terminal and for one line of a log.

#include <string>
#include <string_view>

namespace lanewise {

// What a terminal would act on, or what would pass for something else, is escaped: "\n", "\r",
// "\t"; other control characters and bytes that are not UTF-8 as "\x1B"; the control characters
// U+0080 .. U+009F, ends of lines and controls of direction as "\u202E". All else is as it was.
std::string Printable(std::string_view text);

// The same of a message of several lines: an end of line before two spaces stays one, so that a
// list of indented lines is one, while no text within can begin a line of its own.
std::string PrintableLines(std::string_view text);

}  // namespace lanewise

#endif  // LANEWISE_BASE_PRINTABLE_H_
