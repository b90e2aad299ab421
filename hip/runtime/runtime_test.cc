// The layer over the emulator: what it hands through, and what it refuses.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/module.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip {
namespace {

using testing::HasSubstr;

TEST(RuntimeTest, TwoDevices) {
  ASSERT_EQ(*Device::Count(), 2);
  const Device first = *Device::Open(0);
  const Device second = *Device::OfArch("gfx950");
  EXPECT_EQ(first.arch(), "gfx942");
  EXPECT_EQ(first.compute_units(), 304);
  EXPECT_EQ(first.lds_bytes(), 65536);
  EXPECT_EQ(second.index(), 1);
  EXPECT_EQ(second.compute_units(), 256);
  EXPECT_EQ(second.lds_bytes(), 163840);
  EXPECT_EQ(Device::Open(2).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Device::OfArch("gfx90a").status().message()),
              HasSubstr("no gfx90a device; there are: gfx942, gfx950"));
}

TEST(RuntimeTest, BuffersCopyAndFill) {
  const Stream stream = *Stream::Create();
  const std::vector<int> values = {1, 2, 3, 4, 5};
  Buffer buffer = *Buffer::Of(std::span<const int>(values), "numbers");
  EXPECT_EQ(buffer.size(), 20);
  EXPECT_EQ(*buffer.Read<int>(), values);
  ASSERT_TRUE(buffer.Fill(0x11, stream).ok());
  const int seven = 7;
  ASSERT_TRUE(buffer.CopyFromAsync(&seven, 4, 4, stream).ok());
  std::array<int, 2> part{};
  ASSERT_TRUE(buffer.CopyToAsync(part.data(), 4, 8, stream).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(part, (std::array<int, 2>{7, 0x11111111}));
  Buffer copy = *Buffer::Allocate(20, "copy");
  ASSERT_TRUE(copy.CopyFromAsync(buffer, stream).ok());
  EXPECT_EQ(*copy.Read<int>(), *buffer.Read<int>());
  Buffer moved = std::move(buffer);
  EXPECT_EQ(moved.size(), 20);
  EXPECT_EQ(buffer.data(), nullptr);  // NOLINT: what moving leaves is part of the contract
}

TEST(RuntimeTest, BuffersRefuseWhatDoesNotFit) {
  const Stream stream = Stream::Default();
  Buffer buffer = *Buffer::Allocate(16, "small");
  std::vector<uint8_t> bytes(17);
  EXPECT_THAT(std::string(buffer.CopyFrom(std::span<const uint8_t>(bytes)).message()),
              HasSubstr("buffer small: 17 bytes into 16"));
  EXPECT_THAT(std::string(buffer.CopyTo(std::span<uint8_t>(bytes)).message()),
              HasSubstr("buffer small: 17 bytes out of 16"));
  EXPECT_THAT(std::string(buffer.CopyFromAsync(bytes.data(), 8, 9, stream).message()),
              HasSubstr("bytes 8 to 17 of 16"));
  EXPECT_FALSE(buffer.CopyToAsync(bytes.data(), -1, 2, stream).ok());
  EXPECT_THAT(std::string(buffer.CopyFromAsync(*Buffer::Allocate(8, "smaller"), stream).message()),
              HasSubstr("copying buffer smaller into small: 8 bytes into 16"));
  EXPECT_FALSE(Buffer::Allocate(-1, "negative").ok());
  EXPECT_FALSE(Buffer::Allocate(INT64_MAX, "huge").ok());
  Buffer empty = *Buffer::Allocate(0, "empty");
  EXPECT_TRUE(empty.CopyFrom(std::span<const uint8_t>()).ok());
  EXPECT_TRUE(empty.Fill(1, stream).ok());
}

TEST(RuntimeTest, EventsMeasureTime) {
  const Stream stream = Stream::Default();
  const Event begin = *Event::Create();
  const Event end = *Event::Create();
  EXPECT_FALSE(begin.MillisecondsUntil(end).ok());  // not recorded yet
  ASSERT_TRUE(begin.Record(stream).ok());
  ASSERT_TRUE(end.Record(stream).ok());
  ASSERT_TRUE(end.Synchronize().ok());
  EXPECT_GE(*begin.MillisecondsUntil(end), 0.0f);
}

TEST(RuntimeTest, ModulesOfOtherChipsAndDamagedOnes) {
  const Device device = *Device::Open(0);
  const std::array<uint8_t, 64> zeros{};
  const EmbeddedCodeObject other[] = {{"kernels", "gfx90a", zeros}};
  EXPECT_THAT(std::string(Module::Load(other, device).status().message()),
              HasSubstr("no code object for gfx942; there are: gfx90a"));
  const EmbeddedCodeObject damaged[] = {{"kernels", "gfx942", zeros}};
  EXPECT_EQ(Module::Load(damaged, device).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lanewise::hip
