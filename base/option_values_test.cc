#include "base/option_values.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

// What the validator says of a text; "" where it takes it.
std::string Says(const CLI::Validator& validator, std::string text) { return validator(text); }

TEST(OptionValuesTest, WholeNumbers) {
  for (const char* text : {"0", "7", "4096"}) EXPECT_EQ(Says(WholeNumber(0, 4096), text), "");
  for (const char* text :
       {"-1", "4097", "", " 1", "1 ", "1.0", "1e3", "0x10", "abc", "+1", "99999999999999999999"}) {
    EXPECT_EQ(Says(WholeNumber(0, 4096), text),
              "'" + std::string(text) + "': expected a whole number from 0 to 4096");
  }
  EXPECT_EQ(Says(WholeNumber(1), "9223372036854775807"), "");
  EXPECT_EQ(Says(WholeNumber(1), "9223372036854775808"),
            "'9223372036854775808': expected a whole number of 1 or more, below 2^63");
  EXPECT_EQ(Says(WholeNumber(INT64_MIN), "-9223372036854775808"), "");
}

TEST(OptionValuesTest, Seeds) {
  EXPECT_EQ(Says(Seed(), "18446744073709551615"), "");
  for (const char* text : {"18446744073709551616", "-1", "", "1.5", "7x"}) {
    EXPECT_EQ(Says(Seed(), text),
              "'" + std::string(text) + "': expected a whole number below 2^64");
  }
}

TEST(OptionValuesTest, Floats) {
  for (const char* text : {"0", "448", "1e-45", "0x1p-126", "3.4e38"}) {
    EXPECT_EQ(Says(Float(0), text), "");
  }
  for (const char* text : {"abc", "", "-1", "nan", "inf", "1e39", "1e-60", " 1", "1x"}) {
    EXPECT_EQ(Says(Float(0), text),
              "'" + std::string(text) + "': expected a number of 0 or more that a float holds");
  }
  EXPECT_EQ(Says(Float(0.5f, 6), "7"), "'7': expected a number from 0.5 to 6");
}

TEST(OptionValuesTest, Words) {
  const CLI::Validator word = OneOf({"gfx942", "gfx950", "flashmla"});
  EXPECT_EQ(Says(word, "flashmla"), "");
  EXPECT_EQ(Says(word, "gfx90a"), "'gfx90a': expected gfx942, gfx950 or flashmla");
  EXPECT_EQ(Says(OneOf({"row"}), ""), "'': expected row");
}

// CLI11 converts what the validator took: the two must not differ at the ends of the range.
TEST(OptionValuesTest, WhatIsTakenArrives) {
  CLI::App app;
  std::uint64_t seed = 0;
  std::int64_t number = 0;
  float real = 0;
  app.add_option("--seed", seed)->check(Seed());
  app.add_option("--number", number)->check(WholeNumber(0));
  app.add_option("--real", real)->check(Float(0));
  app.parse("--seed 18446744073709551615 --number 9223372036854775807 --real 1e-45");
  EXPECT_EQ(seed, UINT64_MAX);
  EXPECT_EQ(number, INT64_MAX);
  EXPECT_EQ(real, 0x1p-149f);
}

}  // namespace
}  // namespace lanewise
