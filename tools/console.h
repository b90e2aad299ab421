#ifndef LANEWISE_TOOLS_CONSOLE_H_
#define LANEWISE_TOOLS_CONSOLE_H_

// All that `lanewise` prints as text goes through here: names and paths come from files and from
// elsewhere, and none of them may act on a terminal or pass for a line of ours (base/printable.h).

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/stream/output_fates.h"

namespace lanewise::tools {

// One line on stdout.
void PrintLine(std::string_view line);

// "lanewise prepare: MESSAGE" on stderr; lines of the message that begin with two spaces stay
// lines. `command` is "" for the command as a whole.
void PrintError(std::string_view command, std::string_view message);

// "lanewise prepare: note: TEXT" on stderr.
void PrintNote(std::string_view command, std::string_view text);

// A progress bar on stderr if that is a terminal, else nothing: "prepare  42 %  1.3 GiB/s  0:12
// left". Call with bytes done and bytes in all.
std::function<void(std::int64_t, std::int64_t)> ProgressBar(std::string_view what);

// "1 file", "2 files".
std::string CountText(std::int64_t count, std::string_view noun);

// "1.50 GiB", "12 bytes".
std::string SizeText(std::int64_t bytes);

// "; of 4 files 1 written, 2 kept, 1 left to other shards", or "" where all were written.
std::string FatesText(std::span<const FileReport> files);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_CONSOLE_H_
