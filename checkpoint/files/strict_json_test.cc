#include "checkpoint/files/strict_json.h"

#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string Refusal(std::string_view text) {
  const absl::StatusOr<Json> json = ParseStrictJson(text, "x.json");
  EXPECT_FALSE(json.ok()) << text;
  return std::string(json.status().message());
}

TEST(StrictJson, ReadsWhatNlohmannReads) {
  for (const char* text :
       {"1", "-1", "1.5", "\"a\"", "null", "true", "[]", "{}", " [1,[2,{\"a\":[]}],3] ",
        R"({"a":{"b":[1,{"c":null}],"a":2},"b":"x","\u00e9":[[[]]]})"}) {
    const absl::StatusOr<Json> json = ParseStrictJson(text, "x.json");
    ASSERT_TRUE(json.ok()) << json.status();
    EXPECT_EQ(*json, Json::parse(text));
  }
}

TEST(StrictJson, RefusesWhatCouldBeReadTwoWays) {
  EXPECT_THAT(Refusal(R"({"a":1,"a":1})"), HasSubstr("x.json: the key 'a' stands twice"));
  EXPECT_THAT(Refusal(R"([{"b":{"a":1,"c":2,"\u0061":3}}])"), HasSubstr("'a' stands twice"));
  EXPECT_TRUE(ParseStrictJson(R"({"a":{"a":{"a":1}}})", "x").ok());
  EXPECT_THAT(Refusal(std::string_view("{}\0}", 4)), HasSubstr("NUL byte at byte 3"));
  EXPECT_THAT(Refusal("{} 1"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal(""), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("\"\xff\""), HasSubstr("not JSON"));
}

TEST(StrictJson, DepthCostsNoStack) {
  EXPECT_THAT(Refusal(std::string(10'000'000, '[')), HasSubstr("nested deeper than 32"));
  EXPECT_TRUE(ParseStrictJson(std::string(32, '[') + std::string(32, ']'), "x").ok());
  EXPECT_THAT(Refusal(std::string(33, '[') + std::string(33, ']')), HasSubstr("deeper"));
}

}  // namespace
}  // namespace lanewise
