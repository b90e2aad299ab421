#ifndef LANEWISE_FORMATS_EVERY_FORMAT_H_
#define LANEWISE_FORMATS_EVERY_FORMAT_H_

// For tests: a fixture whose cases run once for each registered format and carry its name, and how
// a failure shows codes and numbers.

#include <cstdio>
#include <string>

#include "formats/number_line.h"
#include "formats/registry.h"
#include "gtest/gtest.h"

namespace lanewise {

class EveryFormat : public testing::TestWithParam<FormatView> {
 protected:
  EveryFormat() : format_(GetParam()), line_(NumberLineOf(format_.name)) {}

  void SetUp() override {
    ASSERT_EQ(line_.facts().name, format_.name) << "no line in kFormatFacts";
    ASSERT_EQ(line_.bits(), format_.bits);
  }

  const FormatView format_;
  const NumberLine line_;
};

inline std::string FormatName(const testing::TestParamInfo<FormatView>& info) {
  return std::string(info.param.name);
}

inline constexpr Overflow kOverflows[] = {Overflow::kNonFinite, Overflow::kSaturate};

inline const char* OverflowText(Overflow overflow) {
  return overflow == Overflow::kSaturate ? "saturating" : "not saturating";
}

// printf into a string: "%a" and "%02x" show a number and a code exactly.
template <class... Args>
std::string Text(const char* format, Args... args) {
  char buffer[256];
  std::snprintf(buffer, sizeof(buffer), format, args...);
  return buffer;
}

}  // namespace lanewise

#endif  // LANEWISE_FORMATS_EVERY_FORMAT_H_
