// What a case's run says of operations made up for the purpose, each with one fault.

#include "tests/differential/run.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/differential/operation.h"
#include "tests/differential/shape.h"

namespace lanewise::differential {
namespace {

absl::Status Copy(const Call& call) {
  std::memcpy(call.Data("out"), call.Data("in"), call.Bytes("in").size());
  return absl::OkStatus();
}

// Moves N elements.
Operation Copies(const std::string& format) {
  Operation operation;
  operation.name = "copy";
  operation.dimensions = {{"N"}};
  operation.arguments = {
      {.name = "in", .format = format, .role = Role::kInput, .extents = {"N"}},
      {.name = "out", .format = format, .role = Role::kOutput, .extents = {"N"}},
  };
  operation.data = {Data::kRandomBits, Data::kIota};
  operation.moves = true;
  operation.reference = Copy;
  operation.host = Copy;
  return operation;
}

std::string Report(const Operation& operation, std::int64_t n) {
  Shape shape;
  shape.Add({"N", n, std::to_string(n)});
  return std::string(
      RunCase({.operation = &operation, .backend = "host", .run = operation.host}, shape, 1)
          .message());
}

TEST(Run, AFailureIsRepeatedWithItsKindOfData) {
  Operation operation = Copies("u8");
  // Element i is i under iota alone.
  operation.host = [](const Call& call) {
    Copy(call).IgnoreError();
    if (call.Bytes("in")[1] == 1 && call.Bytes("in")[2] == 2) call.Bytes("out")[1] = 9;
    return absl::OkStatus();
  };
  const std::string report = Report(operation, 8);
  EXPECT_NE(report.find("--case 'host/copy.N=8' --data 'iota' --seed 1"), std::string::npos)
      << report;
}

TEST(Run, OneKindOfDataRunsAlone) {
  const Operation operation = Copies("u8");
  const Implementation implementation = {
      .operation = &operation, .backend = "host", .run = operation.host};
  Shape shape;
  shape.Add({"N", 8, "8"});
  std::int64_t kinds = 0;
  EXPECT_TRUE(RunCase(implementation, shape, 1, {}, &kinds, Data::kIota).ok());
  EXPECT_EQ(kinds, 1);
  EXPECT_EQ(RunCase(implementation, shape, 1, {}, &kinds, Data::kNan).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Run, SeesAReferenceThatWritesItsInput) {
  Operation operation = Copies("u8");
  operation.reference = [](const Call& call) {
    call.Bytes("in")[3] ^= 0xFF;
    return Copy(call);
  };
  const std::string report = Report(operation, 8);
  EXPECT_NE(report.find("in: the reference writes an input's byte 3 of 8"), std::string::npos)
      << report;
}

TEST(Run, ComparesThePaddingOfALastNibble) {
  Operation operation = Copies("e2m1");
  const auto with_padding = [](std::uint8_t padding) {
    return [padding](const Call& call) {
      Copy(call).IgnoreError();
      std::uint8_t& last = call.Bytes("out").back();
      last = static_cast<std::uint8_t>((last & 0xF) | padding << 4);
      return absl::OkStatus();
    };
  };
  operation.reference = with_padding(0);
  operation.host = with_padding(0);
  EXPECT_EQ(Report(operation, 7), "");
  operation.host = with_padding(5);
  const std::string report = Report(operation, 7);
  EXPECT_NE(report.find("4 padding bits behind the last of 7 elements differ: expected 0x0, got "
                        "0x5"),
            std::string::npos)
      << report;
}

// The host reverses: what belongs at 0 is the last element.
std::string ReportOfReversed(const std::string& format, std::int64_t n) {
  Operation operation = Copies(format);
  operation.data = {Data::kRandomBits};
  operation.host = [](const Call& call) {
    Copy(call).IgnoreError();
    const std::span<std::uint8_t> out = call.Bytes("out");
    std::reverse(out.begin(), out.end());
    if (call.At("in").argument->format == "e2m1") {
      for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(byte << 4 | byte >> 4);
    }
    return absl::OkStatus();
  };
  return Report(operation, n);
}

TEST(Run, NamesTheSourceOfAMovedElement) {
  // One and several runs of a format's bits; the last one passes 24 bits.
  for (const std::int64_t n : {2, 200, 70'000}) {
    const std::string report = ReportOfReversed("u8", n);
    EXPECT_NE(report.find("holds the input's element [N " + std::to_string(n - 1) + "]"),
              std::string::npos)
        << report;
  }
  const std::string nibbles = ReportOfReversed("e2m1", (1 << 24) + 2);
  EXPECT_NE(nibbles.find("holds the input's element [N 16777217]"), std::string::npos) << nibbles;
}

TEST(Run, SaysOfWhatIsNotMovedThatItHasNoSource) {
  Operation operation = Copies("u8");
  operation.host = [](const Call& call) {
    Copy(call).IgnoreError();
    call.Bytes("out")[2] = 0xA5;
    return absl::OkStatus();
  };
  const std::string report = Report(operation, 200);
  EXPECT_NE(report.find("it holds no element of the input"), std::string::npos) << report;
}

TEST(Operands, RefusesSizesThatPassSixtyThreeBits) {
  Operation operation = Copies("u8");
  operation.arguments[0].extents = {"N", "N"};
  Shape shape;
  shape.Add({"N", std::int64_t{1} << 40, "1099511627776"});
  const auto operands = OperandsOf(operation, shape);
  ASSERT_FALSE(operands.ok());
  EXPECT_NE(std::string(operands.status().message())
                .find("argument in, N=1099511627776: more than 2^40 elements"),
            std::string::npos)
      << operands.status();
}

TEST(Data, NamesAreFoundAgain) {
  for (const Data data : kAllData) EXPECT_EQ(FindData(DataName(data)), data) << DataName(data);
  EXPECT_EQ(FindData("unknown"), std::nullopt);
}

}  // namespace
}  // namespace lanewise::differential
