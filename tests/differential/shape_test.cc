#include "tests/differential/shape.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise::differential {
namespace {

const std::vector<Dimension> kDimensions = {{"M"}, {"K"}, {"rule", {"exact", "floor"}}};

std::vector<std::string> Texts(std::string_view text, std::uint64_t seed = 1) {
  const auto shapes = ParseShapes(text, kDimensions, seed);
  EXPECT_TRUE(shapes.ok()) << shapes.status();
  std::vector<std::string> texts;
  if (shapes.ok()) {
    for (const Shape& shape : *shapes) texts.push_back(shape.Text());
  }
  return texts;
}

TEST(Shapes, CrossProducts) {
  EXPECT_EQ(Texts("K=32*{1,3} M=1..2 rule=floor  # words\n\nM=7 K=0 rule=*"),
            (std::vector<std::string>{"M=1,K=32,rule=floor", "M=1,K=96,rule=floor",
                                      "M=2,K=32,rule=floor", "M=2,K=96,rule=floor",
                                      "M=7,K=0,rule=exact", "M=7,K=0,rule=floor"}));
  EXPECT_EQ(Texts("M=1 K=2 rule=exact; M=1 K=2 rule=*").size(), 2u);
}

TEST(Shapes, DrawsFollowTheSeed) {
  const char kText[] = "random 5: M=1..1000 K=1..1000 rule=*";
  EXPECT_EQ(Texts(kText, 3), Texts(kText, 3));
  EXPECT_NE(Texts(kText, 3), Texts(kText, 4));
  EXPECT_EQ(Texts(kText).size(), 5u);
  EXPECT_EQ(DrawShapes("M=1 K=1 rule=exact", kDimensions, 1, 9)->size(), 0u);
  EXPECT_EQ(DrawShapes(kText, kDimensions, 1, 9)->size(), 9u);
}

TEST(Shapes, ATestsNameIsAShape) {
  const auto shape = ParseShape("M=3,K=96,rule=floor", kDimensions);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->Text(), "M=3,K=96,rule=floor");
  EXPECT_EQ((*shape)["rule"], 1);
}

TEST(Shapes, SayWhatIsWrongAndWhere) {
  const auto error = [](std::string_view text) {
    return std::string(ParseShapes(text, kDimensions, 1).status().message());
  };
  EXPECT_NE(error("M=1 N=2").find("character 5: there is no dimension 'N'"), std::string::npos);
  EXPECT_NE(error("M=1 K=2").find("gives no 'rule'"), std::string::npos);
  EXPECT_NE(error("M=1 M=2").find("'M' stands twice"), std::string::npos);
  EXPECT_NE(error("M=5..2").find("ends at 2, before 5"), std::string::npos);
  EXPECT_NE(error("M=x").find("expected a number"), std::string::npos);
  EXPECT_NE(error("M=999999999999999*{999999999999999}").find("passes 2^63"), std::string::npos);
  EXPECT_NE(error("random 999999999: M=1").find("expected 1 to 100000"), std::string::npos);
  EXPECT_NE(error("M=1 K=2 rule=even").find("one of exact, floor"), std::string::npos);
  EXPECT_NE(error("M=2*{1,2").find("expected '}'"), std::string::npos);
  EXPECT_NE(error("M=1 K=1 rule=*\nM=1 K=1 rule=exact Z=1").find("character 20"),
            std::string::npos);
}

}  // namespace
}  // namespace lanewise::differential
