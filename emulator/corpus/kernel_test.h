#ifndef LANEWISE_EMULATOR_CORPUS_KERNEL_TEST_H_
#define LANEWISE_EMULATOR_CORPUS_KERNEL_TEST_H_

// Fixture for kernels that exist at four levels of optimisation and for both chips.

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "hip/embedded_code_object.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/module.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip {

using CodeObjects = std::span<const EmbeddedCodeObject> (*)();

struct Level {
  const char* name;
  CodeObjects objects;
};

inline std::vector<Level> Levels(CodeObjects o0, CodeObjects o1, CodeObjects o2, CodeObjects o3) {
  return {{"O0", o0}, {"O1", o1}, {"O2", o2}, {"O3", o3}};
}

// The chip's name and the level.
class KernelTest : public testing::TestWithParam<std::tuple<const char*, Level>> {
 public:
  static std::string Name(const testing::TestParamInfo<ParamType>& info) {
    return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
  }

 protected:
  static constexpr uint8_t kPoison = 0xa5;

  void SetUp() override {
    auto device = Device::OfArch(std::get<0>(GetParam()));
    ASSERT_TRUE(device.ok()) << device.status();
    auto module = Module::Load(std::get<1>(GetParam()).objects(), *device);
    ASSERT_TRUE(module.ok()) << module.status();
    module_.emplace(*std::move(module));
  }

  bool IsGfx950() const { return std::string(std::get<0>(GetParam())) == "gfx950"; }

  template <typename T>
  Buffer In(const std::vector<T>& values, const char* name = "in") {
    auto buffer = Buffer::Of(std::span<const T>(values), name);
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    return *std::move(buffer);
  }
  // A poisoned buffer of `count` values.
  template <typename T>
  Buffer Out(size_t count, const char* name = "out") {
    return In(std::vector<uint8_t>(count * sizeof(T), kPoison), name);
  }
  template <typename T>
  std::vector<T> Read(const Buffer& buffer) {
    auto values = buffer.Read<T>();
    EXPECT_TRUE(values.ok()) << values.status();
    return *std::move(values);
  }

  template <typename... Args>
  absl::Status TryRun(const char* kernel, const LaunchShape& shape, const Args&... args) {
    auto found = module_->Find(kernel);
    if (!found.ok()) return found.status();
    const Stream stream = Stream::Default();
    if (absl::Status status = found->Launch(shape, stream, args...); !status.ok()) return status;
    return stream.Synchronize();
  }
  template <typename... Args>
  void Run(const char* kernel, const LaunchShape& shape, const Args&... args) {
    const absl::Status status = TryRun(kernel, shape, args...);
    ASSERT_TRUE(status.ok()) << status;
  }

  std::optional<Module> module_;
  std::mt19937 random_{20260101};
};

}  // namespace lanewise::hip

#endif  // LANEWISE_EMULATOR_CORPUS_KERNEL_TEST_H_
