// Every case runs, on the emulator or a card; its bytes are those that its shape says. Times are
// only times.

#include "benchmarks/device_time/device_time.h"

#include <cstdint>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise::benchmarks {
namespace {

using testing::HasSubstr;

TEST(DeviceTime, EveryCaseRuns) {
  const absl::StatusOr<hip::Device> device = hip::Device::Open(0);
  if (!device.ok()) GTEST_SKIP() << device.status();
  ASSERT_TRUE(device->MakeCurrent().ok());
  std::vector<TimedRow> rows;
  for (const TimedCase& each : TimedCases(128)) {
    const absl::StatusOr<TimedRow> row = Time(each, *device, 1);
    ASSERT_TRUE(row.ok()) << each.kernel << ": " << row.status();
    EXPECT_GT(row->bytes, 0) << each.kernel;
    rows.push_back(*row);
  }
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].kernel, "copy");
}

TEST(DeviceTime, BytesAreReadAndWrittenOnce) {
  constexpr int64_t kElements = 128 * 5120;
  std::map<std::string, int64_t> bytes;
  for (const TimedCase& each : TimedCases(128)) bytes[each.kernel + ", " + each.shape] = each.bytes;
  EXPECT_EQ(bytes["copy, 655360 bytes"], 2 * kElements);
  EXPECT_EQ(bytes["quantize e4m3fnuz, bf16 128 x 5120"], 3 * kElements + kElements / 32);
  EXPECT_EQ(bytes["quantize e2m1, bf16 128 x 5120"],
            2 * kElements + kElements / 2 + kElements / 32);
  EXPECT_EQ(bytes["dequantize e2m1, 128 x 5120 to bf16"],
            2 * kElements + kElements / 2 + kElements / 32);
  EXPECT_EQ(bytes["pack gfx942/dense, 128 x 5120"], 2 * kElements);
  EXPECT_EQ(bytes["permute_q_to_fused, bf16 16 x 32 x 512"], 2 * 2 * 16 * 32 * 512);
}

TEST(DeviceTime, TheTableComparesWithTheCopy) {
  const std::string table =
      TimedTable({{"copy", "8 bytes", 2000, 1.0, 0.0}, {"half", "8 bytes", 2000, 2.0, 0.25}});
  EXPECT_THAT(table, HasSubstr("| copy | 8 bytes | 2000 | 1.0 | 0.0 % | 2 | 100 % |"));
  EXPECT_THAT(table, HasSubstr("| half | 8 bytes | 2000 | 2.0 | 25.0 % | 1 | 50 % |"));
}

}  // namespace
}  // namespace lanewise::benchmarks
