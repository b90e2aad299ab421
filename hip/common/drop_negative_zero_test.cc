// -0 rewritten on the device against reference::gfx942::Fp4DropNegativeZero and the rule of bytes.

#include "hip/common/drop_negative_zero.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "reference/gfx942/fp4.h"

namespace lanewise::hip {
namespace {

using testing::HasSubstr;
using Elements = DropNegativeZero::Elements;

class DropNegativeZeroTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    auto kernels = DropNegativeZero::Load(device());
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    kernels_.emplace(*std::move(kernels));
  }

  // The bytes rewritten by the reference, and how many elements changed.
  static std::pair<std::vector<uint8_t>, uint64_t> Expected(Elements elements,
                                                            const std::vector<uint8_t>& bytes) {
    std::vector<uint8_t> result = bytes;
    if (elements == Elements::kE4m3) {
      uint64_t changed = 0;
      for (uint8_t& byte : result) {
        if (byte != 0x80) continue;
        byte = 0;
        ++changed;
      }
      return {result, changed};
    }
    Tensor<uint8_t, 2> tensor(1, static_cast<int64_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), tensor.data());
    const int64_t changed = reference::gfx942::Fp4DropNegativeZero(&tensor);
    std::copy(tensor.data(), tensor.data() + tensor.size(), result.begin());
    return {result, static_cast<uint64_t>(changed)};
  }

  void Compare(Elements elements, const std::vector<uint8_t>& bytes, bool count) {
    const auto [expected, changed] = Expected(elements, bytes);
    const Buffer data = In(bytes, "data");
    const Buffer counter = In(std::vector<uint64_t>{1000}, "changed");
    const absl::Status status = kernels_->Launch(
        {.elements = elements, .bytes = static_cast<int64_t>(bytes.size())},
        {data.data(), count ? static_cast<uint64_t*>(counter.data()) : nullptr}, stream());
    ASSERT_TRUE(status.ok()) << status;
    const std::vector<uint8_t> got = Read(data);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], expected[i])
          << "byte " << i << " of " << got.size() << ", was " << int{bytes[i]};
    }
    ASSERT_EQ(Read<uint64_t>(counter)[0], 1000 + (count ? changed : 0));
  }

  std::optional<DropNegativeZero> kernels_;
};

TEST_P(DropNegativeZeroTest, EveryByteBesideEveryByte) {
  std::vector<uint8_t> pairs;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      pairs.push_back(static_cast<uint8_t>(a));
      pairs.push_back(static_cast<uint8_t>(b));
    }
  }
  Compare(Elements::kE4m3, pairs, true);
  Compare(Elements::kE2m1, pairs, true);
}

TEST_P(DropNegativeZeroTest, TailsOfEveryLength) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr uint8_t kOften[] = {0x80, 0x08, 0x88, 0x00, 0x81, 0x18};
  for (size_t size = 0; size < 70; ++size) {
    for (const size_t more : {size_t{0}, size_t{4096 - 16}}) {
      std::vector<uint8_t> bytes(size + more);
      for (uint8_t& byte : bytes) {
        byte = random() % 2 == 0 ? kOften[random() % 6] : static_cast<uint8_t>(random());
      }
      for (const Elements elements : {Elements::kE4m3, Elements::kE2m1}) {
        Compare(elements, bytes, random() % 4 != 0);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(DropNegativeZeroTest, RefusesWhatDoesNotFit) {
  const Buffer buffer = Out(64);
  auto* const data = static_cast<uint8_t*>(buffer.data());
  const auto message = [&](int64_t bytes, const DropNegativeZero::Operands& operands) {
    const absl::Status status = kernels_->Launch({.bytes = bytes}, operands, stream());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message(-1, {data, nullptr}), HasSubstr("-1 bytes"));
  EXPECT_THAT(message(8, {data + 8, nullptr}), HasSubstr("data is at 0x"));
  EXPECT_THAT(message(8, {data, reinterpret_cast<uint64_t*>(data + 4)}),
              HasSubstr("changed is at 0x"));
  EXPECT_TRUE(kernels_->Launch({.bytes = 0}, {}, stream()).ok());
}

TEST_P(DropNegativeZeroTest, Cost) {
  EXPECT_EQ(DropNegativeZero::Cost({.bytes = 100})->weight_bytes, 100);
  EXPECT_EQ(DropNegativeZero::Cost({.bytes = int64_t{1} << 36})->launches, 2);
}

INSTANTIATE_TEST_SUITE_P(Chips, DropNegativeZeroTest, testing::ValuesIn(Chips()),
                         LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip
