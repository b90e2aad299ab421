#include "checkpoint/safetensors/safetensors_header.h"

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/text.h"
#include "checkpoint/files/test_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<SafetensorsHeader> Parse(std::string_view file) {
  return ParseSafetensorsHeader(AsBytes(file), "model.safetensors");
}

absl::StatusOr<SafetensorsHeader> Parse(std::string_view header, std::string_view data) {
  return Parse(RawSafetensors(header, data));
}

// The message of the refusal; a header that is not refused fails the test.
std::string Refusal(std::string_view header, std::string_view data = "") {
  const std::string file = RawSafetensors(header, data);
  const absl::StatusOr<SafetensorsHeader> parsed = Parse(file);
  EXPECT_FALSE(parsed.ok()) << header;
  const std::string message(StdView(parsed.status().message()));
  EXPECT_THAT(message, HasSubstr("model.safetensors: "));
  return message;
}

TEST(Header, TensorsComeInTheOrderOfTheirBytes) {
  const std::string file =
      RawSafetensors(R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[3,11]},)"
                     R"("__metadata__":{"format":"pt","note":"\u00e9\n"},)"
                     R"("a":{"shape":[3],"data_offsets":[0,3],"dtype":"U8"}}   )",
                     "abcdefghijk");
  const absl::StatusOr<SafetensorsHeader> header = Parse(file);
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ(header->tensors.size(), 2u);
  EXPECT_EQ(header->tensors[0], (TensorInfo{{"a", DType::kU8, {3}}, 0, 3}));
  EXPECT_EQ(header->tensors[1], (TensorInfo{{"b", DType::kF32, {2}}, 3, 11}));
  EXPECT_EQ(header->metadata,
            (std::map<std::string, std::string>{{"format", "pt"}, {"note", "\u00e9\n"}}));
  EXPECT_EQ(header->data_begin, static_cast<int64_t>(file.size()) - 11);
  EXPECT_EQ(header->json.back(), '}');
  EXPECT_EQ(header->json.data(), file.data() + 8);
}

TEST(Header, EmptyTensorsScalarsAndSubByteTypesAreOrdinary) {
  const absl::StatusOr<SafetensorsHeader> header =
      Parse(R"({"scalar":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
            R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
            R"("also":{"dtype":"BOOL","shape":[0],"data_offsets":[4,4]},)"
            R"("four":{"dtype":"F4","shape":[2,3],"data_offsets":[4,7]},)"
            R"("six":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[7,10]}})",
            "0123456789");
  ASSERT_TRUE(header.ok()) << header.status();
  std::vector<std::string> names;
  for (const TensorInfo& tensor : header->tensors) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"scalar", "also", "none", "four", "six"}));
}

TEST(Header, NoTensorsAtAllIsAFile) {
  EXPECT_TRUE(Parse("{}", "").ok());
  EXPECT_TRUE(Parse(R"({"__metadata__":{}}  )", "").ok());
}

TEST(Header, AnyNameThatJsonCanSpellIsAName) {
  const absl::StatusOr<SafetensorsHeader> header =
      Parse(R"({"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
            R"("a\u0000\"\\b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
            "");
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->tensors[0].name, "");
  EXPECT_EQ(header->tensors[1].name, std::string_view("a\0\"\\b", 5));
}

TEST(Header, TheLengthFieldIsChecked) {
  EXPECT_THAT(std::string(Parse("1234567").status().message()), HasSubstr("has 7 bytes"));
  EXPECT_THAT(std::string(Parse("").status().message()), HasSubstr("has 0 bytes"));
  std::string file = RawSafetensors("{}", "");
  file[0] = 3;
  EXPECT_THAT(std::string(Parse(file).status().message()),
              HasSubstr("the header length is 3, but only 2 bytes follow"));
  file[7] = '\x80';
  EXPECT_FALSE(Parse(file).ok());
  EXPECT_THAT(Refusal(""), HasSubstr("'{'"));
  // The limit itself: 100,000,000 bytes are a header, one more is not.
  std::string padded = "{}" + std::string(kMaxSafetensorsHeaderBytes - 2, ' ');
  EXPECT_TRUE(Parse(padded, "").ok());
  padded.push_back(' ');
  EXPECT_THAT(Refusal(padded), HasSubstr("is 100000001, the format allows 100000000"));
}

TEST(Header, OtherKindsOfFileAreNamed) {
  EXPECT_THAT(std::string(Parse("GGUF\3\0\0\0............").status().message()), HasSubstr("GGUF"));
  EXPECT_THAT(std::string(Parse("PK\x03\x04............").status().message()), HasSubstr("zip"));
}

TEST(Header, JsonIsStrict) {
  EXPECT_THAT(Refusal(" {}"), HasSubstr("'{'"));
  EXPECT_THAT(Refusal("\xEF\xBB\xBF{}"), HasSubstr("'{'"));
  EXPECT_THAT(Refusal("{} x"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("{}{}"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("{"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("{,}"), HasSubstr("not JSON at file offset 9"));
  EXPECT_THAT(Refusal("{/* no */}"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("{'a':1}"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal(std::string_view("{}\0x", 4)), HasSubstr("NUL byte at file offset 10"));
  EXPECT_THAT(Refusal("{\"\xff\":1}"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("{\"\xc0\x80\":1}"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal(R"({"\ud800":1})"), HasSubstr("not JSON"));
}

TEST(Header, DuplicateKeysAreRefusedHoweverTheyAreSpelled) {
  const std::string empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(Refusal(R"({"a":)" + empty + R"(,"a":)" + empty + "}"), HasSubstr("'a' twice"));
  EXPECT_THAT(Refusal(R"({"a":)" + empty + R"(,"\u0061":)" + empty + "}"), HasSubstr("'a' twice"));
  EXPECT_THAT(Refusal(R"({"__metadata__":{},"__metadata__":{}})"), HasSubstr("twice"));
  EXPECT_THAT(Refusal(R"({"__metadata__":{"k":"1","k":"1"}})"), HasSubstr("'k' twice"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
              HasSubstr("tensor 'a': holds 'dtype' twice"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}})"),
              HasSubstr("'shape' twice"));
  EXPECT_THAT(Refusal(R"({"a":{"data_offsets":[0,0],"data_offsets":[0,0]}})"),
              HasSubstr("'data_offsets' twice"));
}

TEST(Header, ATensorHasExactlyItsThreeFields) {
  EXPECT_THAT(Refusal(R"({"a":{"shape":[0],"data_offsets":[0,0]}})"), HasSubstr("no dtype"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})"), HasSubstr("no shape"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","shape":[0]}})"), HasSubstr("no data_offsets"));
  EXPECT_THAT(Refusal(R"({"a":{}})"), HasSubstr("no dtype"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"stride":[1]}})"),
              HasSubstr("unknown field 'stride'"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U9","shape":[0],"data_offsets":[0,0]}})"),
              HasSubstr("tensor 'a': unknown dtype 'U9'"));
}

TEST(Header, ValuesHaveTheirTypes) {
  for (const char* value : {"null", "true", "1", "\"x\"", "[]"}) {
    EXPECT_THAT(Refusal(std::string(R"({"a":)") + value + "}"), HasSubstr("tensor 'a': found "));
    EXPECT_THAT(Refusal(std::string(R"({"__metadata__":)") + value + "}"),
                HasSubstr("__metadata__"));
  }
  for (const char* value : {"null", "true", "1", "-1", "1.5", "{}", "[]"}) {
    EXPECT_THAT(Refusal(std::string(R"({"__metadata__":{"k":)") + value + "}}"),
                HasSubstr("'k' is "));
    EXPECT_THAT(Refusal(std::string(R"({"a":{"dtype":)") + value + "}}"),
                HasSubstr("expected dtype"));
  }
  for (const char* value : {"null", "1", "\"1\"", "{}", "[null]", "[-1]", "[-0]", "[1.0]", "[1e3]",
                            "[true]", "[\"1\"]", "[[1]]", "[{}]"}) {
    EXPECT_THAT(Refusal(std::string(R"({"a":{"shape":)") + value + "}}"),
                HasSubstr("expected shape"));
    EXPECT_THAT(Refusal(std::string(R"({"a":{"data_offsets":)") + value + "}}"),
                HasSubstr("expected data_offsets"));
  }
  EXPECT_THAT(Refusal(R"({"a":{"shape":[9223372036854775808]}})"), HasSubstr("beyond 2^63 - 1"));
  EXPECT_THAT(Refusal(R"({"a":{"shape":[99999999999999999999999]}})"),
              HasSubstr("found the number 99999999999999999999999"));
  EXPECT_THAT(Refusal(R"({"a":{"data_offsets":[0]}})"), HasSubstr("holds 1 numbers, expected 2"));
  EXPECT_THAT(Refusal(R"({"a":{"data_offsets":[0,0,0]}})"), HasSubstr("holds 3 numbers"));
}

TEST(Header, OffsetsAndShapesAgree) {
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", "abcd"),
              HasSubstr("tensor 'a': data_offsets [4, 0] end before they begin"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}})", "abcd"),
              HasSubstr("data_offsets [0, 5] reach past the end of the file, whose data is 4"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,4]}})", "abcd"),
              HasSubstr("hold 4 bytes, but shape [3] of U8 is 3 bytes"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"F4","shape":[7],"data_offsets":[0,4]}})", "abcd"),
              HasSubstr("28 bits"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],)"
                      R"("data_offsets":[0,0]}})"),
              HasSubstr("beyond 2^63 - 1"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"U8","shape":[0,4294967296,4294967296],)"
                      R"("data_offsets":[0,0]}})"),
              HasSubstr("beyond 2^63 - 1"));
  EXPECT_THAT(Refusal(R"({"a":{"dtype":"F64","shape":[4611686018427387904],)"
                      R"("data_offsets":[0,0]}})"),
              HasSubstr("bits"));
}

TEST(Header, OverlapsHolesAndStrayBytesAreRefused) {
  const auto two = [](int begin_a, int end_a, int begin_b, int end_b) {
    const auto tensor = [](int begin, int end) {
      return R"({"dtype":"U8","shape":[)" + std::to_string(end - begin) + R"(],"data_offsets":[)" +
             std::to_string(begin) + "," + std::to_string(end) + "]}";
    };
    return R"({"a":)" + tensor(begin_a, end_a) + R"(,"b":)" + tensor(begin_b, end_b) + "}";
  };
  const std::string data = "01234567";
  EXPECT_TRUE(Parse(two(0, 4, 4, 8), data).ok());
  EXPECT_THAT(Refusal(two(0, 5, 4, 8), data),
              HasSubstr("tensor 'b': begins at data offset 4, expected 5, where 'a' ends: they "
                        "overlap"));
  EXPECT_THAT(Refusal(two(0, 8, 0, 8), data), HasSubstr("overlap"));
  EXPECT_THAT(Refusal(two(0, 8, 2, 4), data), HasSubstr("overlap"));
  EXPECT_THAT(Refusal(two(0, 3, 4, 8), data), HasSubstr("expected 3, where 'a' ends: a hole"));
  EXPECT_THAT(Refusal(two(1, 4, 4, 8), data), HasSubstr("expected 0, where the data begins"));
  EXPECT_THAT(Refusal(two(0, 4, 4, 7), data), HasSubstr("1 bytes belong to no tensor"));
  EXPECT_THAT(Refusal("{}", "x"), HasSubstr("1 bytes belong to no tensor"));
  // An empty tensor inside another one's bytes is an overlap too.
  EXPECT_THAT(Refusal(two(0, 8, 3, 3), data), HasSubstr("'b': begins at data offset 3"));
}

// 385 experts of 4096 x 7168: offsets far beyond 2^32, without the bytes.
TEST(Header, TensorsBeyondFourGibibytesKeepTheirOffsets) {
  const std::string text =
      R"({"w":{"dtype":"U8","shape":[385,4096,7168],"data_offsets":[0,11303649280]},)"
      R"("v":{"dtype":"F64","shape":[385,4096,7168],"data_offsets":[11303649280,101732843520]}})";
  const absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeaderText(text, "x");
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->tensors[1].begin, int64_t{11303649280});
  EXPECT_EQ(header->tensors[1].byte_count(), int64_t{90429194240});
  EXPECT_EQ(*SafetensorsHeaderText(header->tensors, {}), text);
}

TEST(Header, DeepNestingAndLongNamesCostNothing) {
  EXPECT_THAT(Refusal("{\"a\":" + std::string(5'000'000, '[')), HasSubstr("found an array"));
  std::string objects = "{";
  for (int i = 0; i < 1'000'000; ++i) objects += "\"a\":{";
  EXPECT_THAT(Refusal(objects), HasSubstr("unknown field 'a'"));
  const std::string message = Refusal("{\"" + std::string(1'000'000, 'x') + "\":1}");
  EXPECT_LT(message.size(), 500u);
  EXPECT_THAT(message, HasSubstr("(1000000 bytes)"));
}

const char kSmallHeader[] =
    R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F8_E4M3","shape":[2,4],"data_offsets":[0,8]},)"
    R"("s":{"dtype":"F32","shape":[],"data_offsets":[8,12]}} )";

TEST(Header, AFileCutShortAnywhereIsRefused) {
  const std::string file = RawSafetensors(kSmallHeader, "0123456789ab");
  ASSERT_TRUE(Parse(file).ok());
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(Parse(std::string_view(file).substr(0, size)).ok()) << "cut to " << size;
  }
  EXPECT_FALSE(Parse(file + "x").ok());
}

// What every accepted header promises, whatever bytes it was read from.
void ExpectLaws(const std::string& file, const SafetensorsHeader& header) {
  int64_t next = 0;
  for (const TensorInfo& tensor : header.tensors) {
    ASSERT_EQ(tensor.begin, next) << tensor.name;
    const absl::StatusOr<int64_t> bytes = ByteCount(tensor.dtype, tensor.shape);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    ASSERT_EQ(tensor.byte_count(), *bytes) << tensor.name;
    next = tensor.end;
  }
  ASSERT_EQ(header.data_begin + next, static_cast<int64_t>(file.size()));
}

TEST(Header, NoFlippedBitMakesALie) {
  const std::string file = RawSafetensors(kSmallHeader, "0123456789ab");
  int accepted = 0;
  for (size_t byte = 0; byte < sizeof(kSmallHeader) - 1 + 8; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = file;
      flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << bit));
      const absl::StatusOr<SafetensorsHeader> header = Parse(flipped);
      if (!header.ok()) continue;
      ++accepted;
      ExpectLaws(flipped, *header);
      // A flip may turn one name, metadata text or dtype of the same size into another.
      ASSERT_EQ(header->tensors.size(), 2u) << "byte " << byte << " bit " << bit;
    }
  }
  EXPECT_GT(accepted, 0);
}

// The fuzz target's work, from a fixed seed: edits of a valid file never crash and never make an
// accepted header break its promises.
TEST(Header, SurvivesRandomEdits) {
  const std::string file = RawSafetensors(kSmallHeader, "0123456789ab");
  const std::vector<std::string> pieces = {"{",
                                           "}",
                                           "[",
                                           "]",
                                           ":",
                                           ",",
                                           "\"",
                                           "-",
                                           "0",
                                           "9",
                                           "12",
                                           "1e9",
                                           "\"w\"",
                                           "\"s\"",
                                           "\"dtype\"",
                                           "\"F4\"",
                                           "null",
                                           "\\u0000",
                                           " ",
                                           "\"shape\":[0]",
                                           "9223372036854775807",
                                           "18446744073709551615",
                                           "\"__metadata__\":{}"};
  std::mt19937_64 random(20261130);
  int accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string edited = file;
    for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % edited.size();
      switch (random() % 4) {
        case 0:
          edited[at] = static_cast<char>(random());
          break;
        case 1:
          edited.erase(at, 1 + random() % 6);
          break;
        case 2:
          edited.insert(at, pieces[random() % pieces.size()]);
          break;
        case 3:
          edited.insert(at, edited.substr(random() % edited.size(), random() % 40));
          break;
      }
      if (edited.empty()) edited = "{";
    }
    if (random() % 2 == 0 && edited.size() >= 20) {
      // Put the length right again, so that the header's end is where it was.
      edited.replace(0, 8, RawSafetensors(std::string(edited.size() - 20, ' '), "").substr(0, 8));
    }
    const absl::StatusOr<SafetensorsHeader> header = Parse(edited);
    if (!header.ok()) {
      ASSERT_FALSE(header.status().message().empty());
      continue;
    }
    ++accepted;
    ExpectLaws(edited, *header);
    if (HasFatalFailure()) FAIL() << "draw " << i;
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace lanewise
