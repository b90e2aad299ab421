#ifndef LANEWISE_CHECKPOINT_STREAM_SHARD_DEAL_H_
#define LANEWISE_CHECKPOINT_STREAM_SHARD_DEAL_H_

// Deals files to processes that share one job and do not talk to each other.

#include <cstdint>
#include <span>
#include <vector>

namespace lanewise {

// Part `index` (from 0) of `count`.
struct JobShard {
  int index = 0;
  int count = 1;
};

// Whose each file is, 0 to shards - 1, by its bytes: the largest first, each to the shard that has
// the fewest bytes so far; among equals the first file, and the lowest shard. So equal sizes give
// equal answers everywhere, every file has one owner, and no shard has more than 4/3 of what the
// best deal would give its fullest. With more shards than files, some have none.
std::vector<int> DealFiles(std::span<const std::int64_t> bytes, int shards);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_STREAM_SHARD_DEAL_H_
