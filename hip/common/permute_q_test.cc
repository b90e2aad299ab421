// The device's permutation of Q against reference::flashmla::PermuteQToFused, and back.

#include "hip/common/permute_q.h"

#include <algorithm>
#include <array>
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
#include "reference/flashmla/fused_layout.h"

namespace lanewise::hip {
namespace {

using testing::HasSubstr;

class PermuteQTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    auto permute = PermuteQ::Load(device());
    ASSERT_TRUE(permute.ok()) << permute.status();
    permute_.emplace(*std::move(permute));
  }

  template <typename T>
  void Compare(int64_t tokens, int64_t heads, int64_t head_dim, std::mt19937_64& random) {
    Tensor<T, 3> q(tokens, heads, head_dim);
    for (int64_t i = 0; i < q.size(); ++i) q.data()[i] = static_cast<T>(random());
    const absl::StatusOr<Tensor<T, 3>> expected = reference::flashmla::PermuteQToFused(q);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const std::vector<T> values(q.data(), q.data() + q.size());
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    PermuteQ::Problem problem = {
        .tokens = tokens, .heads = heads, .head_dim = head_dim, .element_bytes = sizeof(T)};
    const Buffer in = In(values, "q");
    const Buffer fused = Out(bytes, "fused");
    ASSERT_TRUE(permute_->Launch(problem, {in.data(), fused.data()}, stream()).ok());
    const std::vector<T> got = Read<T>(fused);
    for (size_t i = 0; i < got.size(); ++i) {
      const size_t token = i / static_cast<size_t>(heads * head_dim);
      ASSERT_EQ(got[i], expected->data()[i])
          << "token " << token << ", fused element " << i % static_cast<size_t>(heads * head_dim)
          << " of [" << tokens << ", " << heads << ", " << head_dim << "]";
    }
    const Buffer back = Out(bytes, "back");
    problem.undo = true;
    ASSERT_TRUE(permute_->Launch(problem, {back.data(), fused.data()}, stream()).ok());
    ASSERT_EQ(Read<T>(back), values);
  }

  std::optional<PermuteQ> permute_;
};

TEST_P(PermuteQTest, EqualsTheReferenceAndBack) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const auto& [tokens, heads, dim] : {std::array<int64_t, 3>{1, 16, 512},
                                           {3, 8, 512},
                                           {5, 2, 16},
                                           {7, 3, 48},
                                           {2, 128, 64},
                                           {1, 5, 576},
                                           {4, 1, 512},
                                           {3, 1, 7},
                                           {0, 8, 512}}) {
    Compare<uint8_t>(tokens, heads, dim, random);
    Compare<uint16_t>(tokens, heads, dim, random);
    Compare<uint32_t>(tokens, heads, dim, random);
    Compare<uint64_t>(tokens, heads, dim, random);
    if (HasFatalFailure()) return;
  }
}

TEST_P(PermuteQTest, RefusesWhatDoesNotFit) {
  const Buffer buffer = Out(4096);
  const auto message = [&](const PermuteQ::Problem& problem) {
    const absl::Status status = permute_->Launch(problem, {buffer.data(), buffer.data()}, stream());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message({.tokens = 1, .heads = 2, .head_dim = 24}), HasSubstr("q is [1, 2, 24]"));
  EXPECT_THAT(message({.tokens = 1, .heads = 0}), HasSubstr("q is [1, 0, 512]"));
  EXPECT_THAT(message({.tokens = -1, .heads = 8}), HasSubstr("q is [-1, 8, 512]"));
  EXPECT_THAT(message({.tokens = 1, .heads = 2, .element_bytes = 3}), HasSubstr("of 3 bytes"));
  EXPECT_THAT(message({.tokens = 1, .heads = int64_t{1} << 60}), HasSubstr("too large"));
}

TEST_P(PermuteQTest, CostCountsEachByteOnce) {
  const LaunchCost cost = *PermuteQ::Cost({.tokens = 3, .heads = 8});
  EXPECT_EQ(cost.activation_bytes, 3 * 8 * 512 * 2);
  EXPECT_EQ(cost.output_bytes, 3 * 8 * 512 * 2);
  EXPECT_EQ(cost.launches, 1);
}

INSTANTIATE_TEST_SUITE_P(Chips, PermuteQTest, testing::ValuesIn(Chips()), LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip
