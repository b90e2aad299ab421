#ifndef LANEWISE_HIP_COMMON_LAUNCHER_TEST_H_
#define LANEWISE_HIP_COMMON_LAUNCHER_TEST_H_

// Fixture for tests of launchers, once for each chip, its name the parameter: those of the
// emulator's devices, or with another --//hip:runtime the card's.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
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

// The chips of the runtime's devices; "no_device" where it has none, for a test that then skips.
inline std::vector<std::string> Chips() {
  std::set<std::string> chips;
  const absl::StatusOr<int> count = Device::Count();
  for (int i = 0; count.ok() && i < *count; ++i) {
    if (const absl::StatusOr<Device> device = Device::Open(i); device.ok()) {
      chips.insert(device->arch());
    }
  }
  if (chips.empty()) chips.insert("no_device");
  return {chips.begin(), chips.end()};
}

class LauncherTest : public testing::TestWithParam<std::string> {
 public:
  static std::string Name(const testing::TestParamInfo<std::string>& info) { return info.param; }

 protected:
  static constexpr uint8_t kPoison = 0xa5;

  void SetUp() override {
    // A SetUp of a derived class goes on behind this one, and asks IsSkipped().
    absl::StatusOr<Device> device = Device::OfArch(GetParam());
    if (!device.ok()) GTEST_SKIP() << device.status();
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
