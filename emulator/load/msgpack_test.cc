#include "emulator/load/msgpack.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise::emulator {
namespace {

absl::StatusOr<MsgpackValue> Parse(std::initializer_list<uint8_t> bytes) {
  return ParseMsgpack(std::span<const uint8_t>(bytes.begin(), bytes.size()));
}

int64_t Integer(std::initializer_list<uint8_t> bytes) {
  const auto value = Parse(bytes);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() && value->kind == MsgpackValue::Kind::kInteger ? value->integer : -999;
}

TEST(MsgpackTest, Integers) {
  EXPECT_EQ(Integer({0x00}), 0);
  EXPECT_EQ(Integer({0x7f}), 127);
  EXPECT_EQ(Integer({0xe0}), -32);
  EXPECT_EQ(Integer({0xff}), -1);
  EXPECT_EQ(Integer({0xcc, 0xff}), 255);
  EXPECT_EQ(Integer({0xcd, 0x01, 0x02}), 258);
  EXPECT_EQ(Integer({0xce, 0xff, 0xff, 0xff, 0xff}), 4294967295);
  EXPECT_EQ(Integer({0xcf, 0, 0, 0, 1, 0, 0, 0, 0}), 4294967296);
  EXPECT_EQ(Integer({0xd0, 0x80}), -128);
  EXPECT_EQ(Integer({0xd1, 0xff, 0xfe}), -2);
  EXPECT_EQ(Integer({0xd2, 0x80, 0, 0, 0}), -2147483648);
  EXPECT_EQ(Integer({0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd}), -3);
}

TEST(MsgpackTest, ContainersAndText) {
  // {"a": [true, nil, "xy"], "b": {}} with short and long forms.
  const auto value =
      Parse({0x82, 0xa1, 'a', 0x93, 0xc3, 0xc0, 0xd9, 2, 'x', 'y', 0xa1, 'b', 0xde, 0, 0});
  ASSERT_TRUE(value.ok()) << value.status();
  ASSERT_NE(value->Find("a"), nullptr);
  EXPECT_EQ(value->Find("c"), nullptr);
  const MsgpackValue& array = *value->Find("a");
  ASSERT_EQ(array.array.size(), 3u);
  EXPECT_EQ(array.array[0].kind, MsgpackValue::Kind::kBoolean);
  EXPECT_EQ(array.array[0].integer, 1);
  EXPECT_EQ(array.array[1].kind, MsgpackValue::Kind::kNil);
  EXPECT_EQ(array.array[2].string, "xy");
  EXPECT_EQ(value->Find("b")->kind, MsgpackValue::Kind::kMap);
}

TEST(MsgpackTest, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(Parse({}).ok());
  EXPECT_FALSE(Parse({0xcd, 1}).ok());
  EXPECT_FALSE(Parse({0xa3, 'a', 'b'}).ok());
  EXPECT_FALSE(Parse({0xdb, 0xff, 0xff, 0xff, 0xff, 'a'}).ok());
  EXPECT_FALSE(Parse({0xdd, 0xff, 0xff, 0xff, 0xff}).ok());  // an array of 2^32 - 1 elements
  EXPECT_FALSE(Parse({0xca, 0, 0, 0, 0}).ok());              // a float
  EXPECT_FALSE(Parse({0xc4, 1, 0}).ok());                    // binary
  EXPECT_FALSE(Parse({0x81, 0x01, 0x02}).ok());              // a key that is a number
  const std::vector<uint8_t> nested(1000, 0x91);             // arrays in arrays
  EXPECT_FALSE(ParseMsgpack(nested).ok());
}

}  // namespace
}  // namespace lanewise::emulator
