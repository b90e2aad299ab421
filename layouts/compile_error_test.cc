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
  std::ofstream(path) << "#include \"layouts/catalogue.h\"\n" << statement << "\n";
  return Run(Compiler() + " -std=c++20 -fsyntax-only -I. " + path);
}

TEST(CompileError, RightPatternsCompile) {
  ASSERT_NE(Compiler(), "") << "no C++ compiler on PATH";
  const Outcome outcome = Compile(
      "constexpr lanewise::Pattern kRight = \"row(tile r:16) k -> tile k r\";\n"
      "constexpr const lanewise::Layout& kDense = lanewise::CatalogueLayout(\"gfx942/dense\");");
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
  for (const Case& wrong : {
           Case{pattern("row k -> row"), "a_factor_is_missing_on_the_right"},
           Case{pattern("row(r:2 tile) -> tile r"),
                "only_the_outermost_factor_of_an_axis_may_be_open"},
           Case{pattern("row k -> row x"), "a_factor_on_the_right_is_not_on_the_left"},
           Case{pattern("row(tile r:16 -> tile r"), "a_parenthesis_is_not_balanced"},
           Case{pattern("row(tile r:0) -> tile r"), "a_size_is_zero"},
           Case{pattern("row k"), "an_arrow_is_expected"},
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
