// The table of operations and cases in docs/testing.md is what `check --count` prints.

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/programs/run_program.h"

namespace lanewise {
namespace {

std::string check_path, document_path;

TEST(DocumentTest, TheTableIsWhatIsCounted) {
  std::ifstream in(document_path);
  const std::string document(std::istreambuf_iterator<char>(in), {});
  const Ran ran = RunProgram(check_path, {"--count"});
  ASSERT_EQ(ran.status, 0) << Text(ran);
  std::istringstream lines(ran.out);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    // The row of a card is that of the card that was there, which the document says.
    if (line[0] != '|' || line.find("| gpu |") == 0) continue;
    ++rows;
    EXPECT_NE(document.find("\n" + line + "\n"), std::string::npos)
        << "docs/testing.md has no such row: " << line
        << "\nThe table: ./bazelw run //tests/differential:check -- --count";
  }
  EXPECT_EQ(rows, 5) << Text(ran);  // two of them the table's head
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 2;
  lanewise::check_path = argv[1];
  lanewise::document_path = argv[2];
  return RUN_ALL_TESTS();
}
