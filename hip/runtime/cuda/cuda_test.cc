// The layer over the CUDA driver: it builds and links, and where there is no driver or no card it
// says so; PTX is embedded with its kernels' signatures.

#include <cstdint>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/common/quantize.h"
#include "hip/runtime/cuda/driver.h"
#include "hip/runtime/device.h"
#include "hip/runtime/kernel_signature.h"
#include "hip/runtime/module.h"

namespace lanewise::hip {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Cuda, FindsDevicesOrSaysWhyThereAreNone) {
  const absl::StatusOr<int> count = Device::Count();
  if (count.ok()) {
    EXPECT_GT(*count, 0);
    const auto device = Device::Open(0);
    ASSERT_TRUE(device.ok()) << device.status();
    const auto module = Module::Load(QuantizeCodeObjects(), *device);
    EXPECT_TRUE(module.ok()) << module.status();
    return;
  }
  EXPECT_EQ(count.status().code(), absl::StatusCode::kUnavailable) << count.status();
  EXPECT_THAT(std::string(count.status().message()), HasSubstr("counting devices: "));
  EXPECT_EQ(Device::Open(0).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Device::OfArch("sm_90").status().code(), absl::StatusCode::kUnavailable);
}

TEST(Cuda, SaysWhatTheDriverLacks) {
  std::string why;
  EXPECT_EQ(cuda::OpenDriver("libno_such_driver.so.1", why), nullptr);
  EXPECT_THAT(why, HasSubstr("NVIDIA's driver is not installed: libno_such_driver.so.1"));
  EXPECT_EQ(cuda::OpenDriver("libm.so.6", why), nullptr);
  EXPECT_EQ(why, "libm.so.6 has no cuInit");
}

TEST(Cuda, PtxIsEmbedded) {
  for (const EmbeddedCodeObject& object : QuantizeCodeObjects()) {
    if (object.arch != "sm_80") continue;
    const std::string_view text(reinterpret_cast<const char*>(object.bytes.data()),
                                object.bytes.size());
    EXPECT_THAT(std::string(text.substr(0, 200)), HasSubstr(".target sm_80"));
    EXPECT_EQ(text.find('\0'), std::string_view::npos);
    const auto signatures = ReadKernelSignatures(object.bytes);
    ASSERT_TRUE(signatures.ok()) << signatures.status();
    EXPECT_THAT(signatures->at("QuantizeBf16ToE4m3Fnuz"), ElementsAre(8, 8, 8, 4, 4, 8, 20));
    return;
  }
  GTEST_SKIP() << "no compiler for PTX: install clang-22";
}

}  // namespace
}  // namespace lanewise::hip
