#include "base/printable.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

TEST(PrintableTest, TextStaysAsItIs) {
  for (const std::string_view text :
       {"", "model.layers.0.mlp.weight", "it's \"quoted\" \\ slashed", "\xC3\xA9\xE2\x82\xAC",
        "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(Printable(text), text);
    EXPECT_EQ(PrintableLines(text), text);
  }
}

TEST(PrintableTest, WhatATerminalActsOnIsEscaped) {
  EXPECT_EQ(Printable("a\x1B[2Jb"), "a\\x1B[2Jb");
  EXPECT_EQ(Printable(std::string_view("\0\x01\x7F", 3)), "\\x00\\x01\\x7F");
  EXPECT_EQ(Printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "2J"),
            "\\u009B2J");  // CSI in one character
  EXPECT_EQ(Printable("\xE2\x80\xAEtxt"), "\\u202Etxt");
  EXPECT_EQ(Printable("\xE2\x81\xA6\xE2\x81\xA9\xE2\x80\xA8\xD8\x9C"),
            "\\u2066\\u2069\\u2028\\u061C");
}

TEST(PrintableTest, BytesThatAreNotUtf8AreEscapedOneByOne) {
  EXPECT_EQ(Printable("\xFF\xC3"), "\\xFF\\xC3");
  EXPECT_EQ(Printable("\xC0\x80"), "\\xC0\\x80");                    // longer than it has to be
  EXPECT_EQ(Printable("\xE0\x80\x80"), "\\xE0\\x80\\x80");           // the same
  EXPECT_EQ(Printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");           // a surrogate
  EXPECT_EQ(Printable("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // past the last
  EXPECT_EQ(Printable("\xE2\x82z"), "\\xE2\\x82z");
}

TEST(PrintableTest, OnlyIndentedLinesAreLines) {
  EXPECT_EQ(PrintableLines("2 problems\n  first\n  second"), "2 problems\n  first\n  second");
  EXPECT_EQ(PrintableLines("name\nlanewise: all right"), "name\\nlanewise: all right");
  EXPECT_EQ(PrintableLines("name\n all right\n"), "name\\n all right\\n");
}

}  // namespace
}  // namespace lanewise
