#include "checkpoint/stream/shard_deal.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

std::vector<std::int64_t> Loads(const std::vector<std::int64_t>& bytes, int shards) {
  std::vector<std::int64_t> loads(static_cast<std::size_t>(shards));
  const std::vector<int> owner = DealFiles(bytes, shards);
  EXPECT_EQ(owner.size(), bytes.size());
  for (std::size_t i = 0; i < owner.size(); ++i) loads.at(owner[i]) += bytes[i];
  return loads;
}

TEST(DealFilesTest, WorkedOutByHand) {
  // 7 to shard 0; 5 to 1; 5 to 2; 4 to 1 (5 + 4); 3 to 2 (5 + 3); 1 to 0 (7 + 1).
  const std::vector<std::int64_t> bytes = {4, 5, 1, 7, 5, 3};
  EXPECT_EQ(DealFiles(bytes, 3), (std::vector<int>{1, 1, 0, 0, 2, 2}));
  EXPECT_EQ(DealFiles(bytes, 1), (std::vector<int>{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(DealFiles({}, 3), std::vector<int>());
}

TEST(DealFilesTest, MoreShardsThanFilesGivesEachItsOwn) {
  EXPECT_EQ(DealFiles(std::vector<std::int64_t>{3, 9, 6}, 8), (std::vector<int>{2, 0, 1}));
  // However many shards: nothing is kept for those that have no file.
  EXPECT_EQ(DealFiles(std::vector<std::int64_t>{3, 9, 6}, std::numeric_limits<int>::max()),
            (std::vector<int>{2, 0, 1}));
  // Files without bytes as well.
  EXPECT_EQ(DealFiles(std::vector<std::int64_t>{0, 0, 0}, 3), (std::vector<int>{0, 1, 2}));
}

// List scheduling: no shard has more than the mean and one file.
TEST(DealFilesTest, IsEven) {
  const std::uint64_t seed = 20240501;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> bytes(1 + random() % 60);
    for (std::int64_t& size : bytes) size = static_cast<std::int64_t>(random() % 1'000'000);
    const int shards = 1 + static_cast<int>(random() % 9);
    const std::vector<std::int64_t> loads = Loads(bytes, shards);
    const std::int64_t sum = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
    EXPECT_EQ(std::accumulate(loads.begin(), loads.end(), std::int64_t{0}), sum);

    EXPECT_LE(*std::max_element(loads.begin(), loads.end()),
              sum / shards + *std::max_element(bytes.begin(), bytes.end()) + 1)
        << "seed " << seed << " round " << round;
  }
}

}  // namespace
}  // namespace lanewise
