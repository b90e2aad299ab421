#ifndef LANEWISE_HIP_COMMON_LAUNCHER_TEST_H_
#define LANEWISE_HIP_COMMON_LAUNCHER_TEST_H_

// Fixture for tests of launchers, once for each chip, its name the parameter.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip {

// A new seed each run, for the failure's message.
inline uint64_t NewSeed() { return std::random_device()(); }

class LauncherTest : public testing::TestWithParam<const char*> {
 public:
  static std::string Name(const testing::TestParamInfo<const char*>& info) { return info.param; }

 protected:
  static constexpr uint8_t kPoison = 0xa5;

  void SetUp() override {
    absl::StatusOr<Device> device = Device::OfArch(GetParam());
    ASSERT_TRUE(device.ok()) << device.status();
    device_.emplace(*std::move(device));
    ASSERT_TRUE(device_->MakeCurrent().ok());
  }

  template <typename T>
  static Buffer In(const std::vector<T>& values, const char* name = "in") {
    absl::StatusOr<Buffer> buffer = Buffer::Of(std::span<const T>(values), name);
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    return *std::move(buffer);
  }
  // Poisoned memory of exactly `bytes`: the emulator reports accesses past it.
  static Buffer Out(int64_t bytes, const char* name = "out") {
    return In(std::vector<uint8_t>(static_cast<size_t>(bytes), kPoison), name);
  }
  template <typename T = uint8_t>
  static std::vector<T> Read(const Buffer& buffer) {
    absl::StatusOr<std::vector<T>> values = buffer.Read<T>();
    EXPECT_TRUE(values.ok()) << values.status();
    return *std::move(values);
  }

  const Stream& stream() const { return stream_; }
  const Device& device() const { return *device_; }

 private:
  std::optional<Device> device_;
  Stream stream_ = Stream::Default();
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_LAUNCHER_TEST_H_
