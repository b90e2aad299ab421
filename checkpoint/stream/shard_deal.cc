#include "checkpoint/stream/shard_deal.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

namespace lanewise {

std::vector<int> DealFiles(std::span<const std::int64_t> bytes, int shards) {
  std::vector<std::size_t> largest_first(bytes.size());
  std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
  std::sort(largest_first.begin(), largest_first.end(), [&](std::size_t a, std::size_t b) {
    return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b;
  });
  // Of shards with nothing the lowest comes first, so those beyond the number of files get none.
  const int used = static_cast<int>(std::min<std::int64_t>(shards, std::ssize(bytes)));
  std::set<std::pair<std::int64_t, int>> loads;  // bytes so far, shard
  for (int shard = 0; shard < used; ++shard) loads.insert({0, shard});
  std::vector<int> owner(bytes.size(), 0);
  for (const std::size_t file : largest_first) {
    auto [load, shard] = *loads.begin();
    loads.erase(loads.begin());
    owner[file] = shard;
    // An empty file is work too: at least it has to be made.
    loads.insert({load + std::max<std::int64_t>(1, bytes[file]), shard});
  }
  return owner;
}

}  // namespace lanewise
