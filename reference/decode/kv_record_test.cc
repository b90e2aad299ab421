#include "reference/decode/kv_record.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise::reference {
namespace {

std::vector<Bf16> Zeros() { return std::vector<Bf16>(512, Bf16::FromFloat(0)); }

TEST(KvRecord, BytesByHand) {
  std::vector<Bf16> kv = Zeros();
  kv[0] = Bf16::FromFloat(448);   // OCP: code 127, 0x7E; FNUZ of 224: code 128, 224
  kv[1] = Bf16::FromFloat(-1);    // OCP 0xB8
  kv[64] = Bf16::FromFloat(450);  // above 448: one code more
  kv[511] = Bf16::FromFloat(-2);  // 0xC000, as it is
  const absl::StatusOr<KvRecord> ocp = MakeKvRecord(kv, ElementFormat::kE4m3Fn);
  ASSERT_TRUE(ocp.ok()) << ocp.status();
  EXPECT_EQ(ocp->codes[0], 127);
  EXPECT_EQ(ocp->row[0], 0x7E);
  EXPECT_EQ(ocp->row[1], 0xB8);
  EXPECT_EQ(ocp->codes[1], 128);
  EXPECT_EQ(DecodeElement(ElementFormat::kE4m3Fn, ocp->row[64]), 224.0f) << "225 to the nearest";
  // 1e-4 / 448 = 2^-22.1, so a block of zeros has 2^-22.
  EXPECT_EQ(ocp->codes[2], 127 - 22);
  EXPECT_EQ(ocp->codes[7], 0);
  EXPECT_EQ(ocp->row[574], 0x00);
  EXPECT_EQ(ocp->row[575], 0xC0);

  const absl::StatusOr<KvRecord> fnuz = MakeKvRecord(kv, ElementFormat::kE4m3Fnuz);
  ASSERT_TRUE(fnuz.ok());
  EXPECT_EQ(fnuz->codes[0], 128);
  EXPECT_EQ(DecodeElement(ElementFormat::kE4m3Fnuz, fnuz->row[0]), 224.0f);
  EXPECT_EQ(DecodeElement(ElementFormat::kE4m3Fnuz, fnuz->row[1]), -0.5f);
  EXPECT_EQ(fnuz->codes[2], 127 - 21);
}

TEST(KvRecord, WhatIsNotFiniteSpoilsItsBlockAlone) {
  for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    std::vector<Bf16> kv = Zeros();
    kv[70] = Bf16::FromFloat(bad);
    kv[0] = Bf16::FromFloat(448);
    const KvRecord record = *MakeKvRecord(kv, ElementFormat::kE4m3Fn);
    EXPECT_EQ(record.codes[0], 127);
    EXPECT_EQ(record.codes[1], 255);
    EXPECT_EQ(record.row[64], 0x7F);
    EXPECT_EQ(record.codes[2], 105);
  }
}

TEST(KvRecord, Offsets) {
  EXPECT_EQ(KvRecordOffset(3), 1728);
  EXPECT_EQ(KvCodesOffset(3, 64), 36888);  // 64 * 576 + 3 * 8
}

TEST(KvRecord, BadInputIsRefused) {
  EXPECT_EQ(MakeKvRecord(std::vector<Bf16>(511), ElementFormat::kE4m3Fn).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeKvRecord(Zeros(), ElementFormat::kE2m1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lanewise::reference
