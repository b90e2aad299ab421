// A wrong pattern does not compile, and what the compiler prints names the fault. Runs the compiler
// that is at hand on small programs.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

struct Outcome {
  int status = -1;
  std::string output;
};

Outcome Run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  while (const std::size_t count = fread(buffer, 1, sizeof buffer, pipe)) {
    outcome.output.append(buffer, count);
  }
  outcome.status = pclose(pipe);
  return outcome;
}

std::string Compiler() {
  for (const std::string name : {"c++", "g++", "clang++-22", "clang++"}) {
    if (Run(name + " --version").status == 0) return name;
  }
  return "";
}

Outcome Compile(const std::string& statement) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/case.cc";
  std::ofstream(path) << "#include \"layouts/catalogue.h\"\n#include \"layouts/lane_index.h\"\n"
                      << statement << "\n";
  return Run(Compiler() + " -std=c++20 -fsyntax-only -I. " + path);
}

TEST(CompileError, RightPatternsCompile) {
  ASSERT_NE(Compiler(), "") << "no C++ compiler on PATH";
  const Outcome outcome = Compile(
      "constexpr lanewise::Pattern kRight = \"row(tile r:16) k -> tile k r\";\n"
      "constexpr const lanewise::Layout& kDense = lanewise::CatalogueLayout(\"gfx942/dense\");\n"
      "constexpr lanewise::Lanes kLanes = \"lane(r) load(k) byte()\";\n"
      "static_assert(lanewise::LaneIndex<kDense.lane_pattern()>::kIsWithoutGap);");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST(CompileError, NamesTheFault) {
  struct Case {
    std::string statement;
    std::string_view named;
  };
  const auto pattern = [](std::string_view text) {
    return "constexpr lanewise::Pattern kWrong = \"" + std::string(text) + "\";";
  };
  const auto lanes = [](std::string_view text) {
    return "constexpr lanewise::Lanes kWrong = \"" + std::string(text) + "\";";
  };
  // Lanes that are right by themselves and wrong for the pattern.
  const auto reading = [](std::string_view text) {
    return "inline constexpr lanewise::LanePattern kWrong = {\"row(tile r:16) k(step byte:8) -> "
           "tile step r byte\", \"" +
           std::string(text) + "\"};\nconstexpr auto kLanes = lanewise::LaneIndex<kWrong>::kLanes;";
  };
  for (const Case& wrong : {
           Case{pattern("row k -> row"), "a_factor_is_missing_on_the_right"},
           Case{pattern("row(r:2 tile) -> tile r"),
                "only_the_outermost_factor_of_an_axis_may_be_open"},
           Case{pattern("row k -> row x"), "a_factor_on_the_right_is_not_on_the_left"},
           Case{pattern("row(tile r:16 -> tile r"), "a_parenthesis_is_not_balanced"},
           Case{pattern("row(tile r:0) -> tile r"), "a_size_is_zero"},
           Case{pattern("row k"), "an_arrow_is_expected"},
           Case{lanes("load(step) byte(byte)"), "lanes_begin_with_a_section_lane"},
           Case{lanes("lane(r) load(step)"), "lanes_end_with_a_section_byte_or_unit"},
           Case{lanes("lane(r) byte(byte) load(step)"),
                "lanes_have_the_sections_lane_load_and_byte_in_this_order"},
           Case{lanes("lane(r:0) byte(byte)"), "a_size_is_zero"},
           Case{reading("lane(r) load(stride) byte(byte)"),
                "a_name_is_no_factor_of_the_pattern_nor_a_sized_part_of_the_lane"},
           Case{reading("lane(r r) load(step) byte(byte)"), "two_parts_of_a_factor_have_no_size"},
           Case{reading("lane(r:3) load(step) byte(byte)"),
                "the_parts_of_a_factor_do_not_divide_its_size"},
           Case{reading("lane(tile r) load(step) byte(byte)"),
                "an_open_factor_of_lane_or_byte_needs_a_size"},
           Case{reading("lane(tile:4 r) byte(byte)"),
                "a_factor_that_no_section_names_lies_inside_of_one_that_is_named"},
           Case{reading("lane(byte) load(step) byte(r)"),
                "the_bytes_of_a_load_do_not_lie_together_in_this_order"},
           Case{"const auto& kNone = lanewise::CatalogueLayout(\"gfx942/dens\");",
                "no_layout_of_this_tag_is_in_the_catalogue"},
       }) {
    const Outcome outcome = Compile(wrong.statement);
    EXPECT_NE(outcome.status, 0) << "compiled: " << wrong.statement;
    EXPECT_NE(outcome.output.find(wrong.named), std::string::npos) << wrong.statement << "\n"
                                                                   << outcome.output;
  }
}

}  // namespace
}  // namespace lanewise
