// The layer over ROCm's own library: it builds, links and runs, and where there is no GPU it says
// so.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/runtime/device.h"

namespace lanewise::hip {
namespace {

TEST(Rocm, FindsDevicesOrSaysThatThereAreNone) {
  const absl::StatusOr<int> count = Device::Count();
  if (count.ok()) {
    EXPECT_GT(*count, 0);
    EXPECT_TRUE(Device::Open(0).ok());
    return;
  }
  EXPECT_EQ(count.status().code(), absl::StatusCode::kUnavailable) << count.status();
  EXPECT_THAT(std::string(count.status().message()), testing::HasSubstr("counting devices"));
  EXPECT_FALSE(Device::OfArch("gfx942").ok());
}

}  // namespace
}  // namespace lanewise::hip
