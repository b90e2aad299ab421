// Tensors of more than 2^32 bytes and more units than one launch counts, on a card: no emulator
// gets through them. A piece of a few megabytes that the reference knows the result of is repeated;
// its size divides no power of two, so that an offset which wraps meets other bytes.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "hip/common/drop_negative_zero.h"
#include "hip/common/layout_copy.h"
#include "hip/common/mx_dequantize.h"
#include "hip/common/mx_quantize.h"
#include "hip/common/permute_q.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/stream.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/pack.h"
#include "reference/flashmla/fused_layout.h"
#include "reference/quantize/mx.h"
#include "reference/tensor.h"

namespace lanewise::hip {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int64_t kOver32Bits = (int64_t{1} << 32) + 1;

class LargeTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<Device> device = Device::Open(0);
    if (!device.ok()) GTEST_SKIP() << device.status();
    if (device->name().find("(emulated)") != std::string::npos) {
      GTEST_SKIP() << "wants a card: --//hip:runtime=rocm or cuda";
    }
    constexpr int64_t kNeeded = int64_t{32} << 30;
    if (device->memory_bytes() < kNeeded) {
      GTEST_SKIP() << "the device has " << device->memory_bytes() << " bytes, not " << kNeeded;
    }
    ASSERT_TRUE(device->MakeCurrent().ok());
    device_.emplace(*device);
  }

  static Bytes RandomBytes(int64_t size) {
    std::mt19937_64 random(1);
    Bytes bytes(static_cast<size_t>(size));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
  }

  // Device memory of the piece again and again.
  Buffer Repeat(const Bytes& piece, int64_t times) {
    const auto size = static_cast<int64_t>(piece.size());
    Buffer buffer = *Buffer::Allocate(size * times, "in");
    for (int64_t i = 0; i < times; ++i) {
      EXPECT_TRUE(buffer.CopyFromAsync(piece.data(), i * size, size, stream_).ok());
    }
    EXPECT_TRUE(stream_.Synchronize().ok());
    return buffer;
  }

  // Poisoned device memory.
  Buffer Out(int64_t bytes) {
    Buffer buffer = *Buffer::Allocate(bytes, "out");
    EXPECT_TRUE(buffer.Fill(0xA5, stream_).ok());
    return buffer;
  }

  // The first byte that is not the piece's, if any.
  void ExpectRepeated(const Buffer& buffer, const Bytes& piece) {
    const auto size = static_cast<int64_t>(piece.size());
    ASSERT_EQ(buffer.size() % size, 0);
    Bytes got(piece.size());
    for (int64_t at = 0; at < buffer.size(); at += size) {
      ASSERT_TRUE(buffer.CopyToAsync(got.data(), at, size, stream_).ok());
      const absl::Status status = stream_.Synchronize();
      ASSERT_TRUE(status.ok()) << status;
      if (std::memcmp(got.data(), piece.data(), piece.size()) == 0) continue;
      const auto [wrong, right] = std::mismatch(got.begin(), got.end(), piece.begin());
      FAIL() << buffer.name() << ": byte " << at + (wrong - got.begin()) << " of " << buffer.size()
             << " is " << int{*wrong} << ", expected " << int{*right};
    }
  }

  std::optional<Device> device_;
  Stream stream_ = Stream::Default();
};

TEST_F(LargeTest, LayoutsThereAndBack) {
  struct Case {
    std::string_view tag;
    std::vector<int64_t> extents;  // of a piece, repeated along the first axis
  };
  const auto copy = LayoutCopy::Load(*device_);
  ASSERT_TRUE(copy.ok()) << copy.status();
  for (const Case& each : {Case{"gfx942/dense", {720, 5120}},
                           Case{"gfx942/fp4_tile_major", {720, 3616}},  // with a remainder
                           Case{"gfx942/gate_up_interleave", {3, 2, 336, 1000}},
                           Case{"aiter/shuffle_weight_16x16", {720, 5120}}}) {
    SCOPED_TRACE(each.tag);
    const auto bound = Bind(*FindLayout(each.tag), each.extents);
    ASSERT_TRUE(bound.ok()) << bound.status();
    const Bytes logical = RandomBytes(bound->units());
    Bytes packed(logical.size());
    ASSERT_TRUE(Pack(*bound, 1, logical, packed).ok());

    const int64_t times = kOver32Bits / bound->units() + 1;
    LayoutCopy::Problem problem = {.tag = each.tag, .extents = each.extents};
    problem.extents[0] *= times;
    const absl::StatusOr<LaunchCost> cost = LayoutCopy::Cost(problem);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_GE(cost->launches, 3);  // 2^31 units a launch
    Buffer rows = Repeat(logical, times);
    Buffer memory = Out(rows.size());
    absl::Status status = copy->Launch(problem, {rows.data(), memory.data()}, stream_);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_NO_FATAL_FAILURE(ExpectRepeated(memory, packed));

    ASSERT_TRUE(rows.Fill(0xA5, stream_).ok());
    problem.direction = LayoutCopy::Direction::kUnpack;
    status = copy->Launch(problem, {rows.data(), memory.data()}, stream_);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_NO_FATAL_FAILURE(ExpectRepeated(rows, logical));
  }
}

TEST_F(LargeTest, PermuteQ) {
  constexpr int64_t kTokens = 111, kHeads = 32, kDim = 512;
  const Bytes standard = RandomBytes(kTokens * kHeads * kDim * 2);
  Tensor<uint16_t, 3> q(kTokens, kHeads, kDim);
  std::memcpy(q.data(), standard.data(), standard.size());
  const auto expected = reference::flashmla::PermuteQToFused(q);
  ASSERT_TRUE(expected.ok()) << expected.status();
  Bytes fused(standard.size());
  std::memcpy(fused.data(), expected->data(), fused.size());

  const auto permute = PermuteQ::Load(*device_);
  ASSERT_TRUE(permute.ok()) << permute.status();
  // 2^31 elements are one launch's.
  const int64_t times = kOver32Bits / static_cast<int64_t>(standard.size()) + 1;
  const Buffer in = Repeat(standard, times);
  const Buffer out = Out(in.size());
  const absl::Status status = permute->Launch({.tokens = kTokens * times, .heads = kHeads},
                                              {in.data(), out.data()}, stream_);
  ASSERT_TRUE(status.ok()) << status;
  ExpectRepeated(out, fused);
}

TEST_F(LargeTest, QuantizeAndDequantize) {
  constexpr int64_t kRows = 720, kColumns = 5120;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  Tensor<Bf16, 2> rows(kRows, kColumns);
  for (int64_t i = 0; i < rows.size(); ++i) rows.data()[i] = Bf16::FromFloat(normal(random));
  const auto expected =
      reference::Quantize(rows, {.format = ElementFormat::kE4m3Fn, .maximum = 448.0f});
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto back = reference::DequantizeToBf16(*expected, ElementFormat::kE4m3Fn);
  ASSERT_TRUE(back.ok()) << back.status();
  const auto bytes_of = [](const auto& tensor) {
    Bytes bytes(static_cast<size_t>(tensor.size()) * sizeof(*tensor.data()));
    std::memcpy(bytes.data(), tensor.data(), bytes.size());
    return bytes;
  };

  // More than 2^33 elements, which one launch takes.
  constexpr int64_t kTimes = 2 * kOver32Bits / (kRows * kColumns) + 1;
  constexpr int64_t kElements = kTimes * kRows * kColumns;
  Buffer x = Repeat(bytes_of(rows), kTimes);
  const Buffer elements = Out(kElements), codes = Out(kElements / 32);
  const auto quantize = MxQuantize::Load(*device_);
  ASSERT_TRUE(quantize.ok()) << quantize.status();
  const MxQuantize::Problem problem = {.rows = kTimes * kRows, .columns = kColumns};
  EXPECT_EQ(MxQuantize::Cost(problem)->launches, 2);
  absl::Status status =
      quantize->Launch(problem, {x.data(), elements.data(), codes.data()}, stream_);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_NO_FATAL_FAILURE(ExpectRepeated(elements, bytes_of(expected->elements)));
  ASSERT_NO_FATAL_FAILURE(ExpectRepeated(codes, bytes_of(expected->codes)));

  const auto dequantize = MxDequantize::Load(*device_);
  ASSERT_TRUE(dequantize.ok()) << dequantize.status();
  ASSERT_TRUE(x.Fill(0xA5, stream_).ok());
  status = dequantize->Launch({.rows = kTimes * kRows, .columns = kColumns},
                              {elements.data(), codes.data(), x.data()}, stream_);
  ASSERT_TRUE(status.ok()) << status;
  ExpectRepeated(x, bytes_of(*back));
}

TEST_F(LargeTest, DropNegativeZero) {
  const Bytes before = RandomBytes(3686411);
  Bytes after = before;
  uint64_t found = 0;
  for (uint8_t& byte : after) {
    found += byte == 0x80 ? 1 : 0;
    if (byte == 0x80) byte = 0;
  }
  const int64_t times = kOver32Bits / static_cast<int64_t>(before.size()) + 1;
  const Buffer data = Repeat(before, times);
  Buffer changed = *Buffer::Allocate(8, "changed");
  ASSERT_TRUE(changed.Fill(0, stream_).ok());
  const auto drop = DropNegativeZero::Load(*device_);
  ASSERT_TRUE(drop.ok()) << drop.status();
  const absl::Status status =
      drop->Launch({.elements = DropNegativeZero::Elements::kE4m3, .bytes = data.size()},
                   {data.data(), static_cast<uint64_t*>(changed.data())}, stream_);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_NO_FATAL_FAILURE(ExpectRepeated(data, after));
  EXPECT_EQ(changed.Read<uint64_t>()->at(0), found * static_cast<uint64_t>(times));
}

}  // namespace
}  // namespace lanewise::hip
