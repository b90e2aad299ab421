#ifndef LANEWISE_BASE_OPTION_VALUES_H_
#define LANEWISE_BASE_OPTION_VALUES_H_

// What the options of this project's commands take, said in one way: validators for CLI11 that
// accept a value as a whole or refuse it with the value and what it may be. (CLI11's own converters
// accept more than they say, and its ranges are printed to the last digit.)

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace lanewise {

// "'x': expected a whole number from 0 to 4096", or "of 1 or more" where nothing but the type ends
// the range.
CLI::Validator WholeNumber(std::int64_t least,
                           std::int64_t most = std::numeric_limits<std::int64_t>::max());

// "'-1': expected a whole number below 2^64".
CLI::Validator Seed();

// A finite number, decimal or as 0x1p-126: "'abc': expected a number from 0.001 to 448", or "of 0
// or more". A float holds it: what is larger than all floats, or not 0 and smaller, is refused.
CLI::Validator Float(float least, float most = std::numeric_limits<float>::max());

// "'gfx90a': expected gfx942, gfx950 or flashmla".
CLI::Validator OneOf(std::vector<std::string> words);

// An empty value, such as a variable of a script that is not set, is wrong usage: as a path it
// would be the directory where the user stands.
CLI::Validator NotEmpty();

}  // namespace lanewise

#endif  // LANEWISE_BASE_OPTION_VALUES_H_
