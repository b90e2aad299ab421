#include "checkpoint/restore/rank_paths.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace lanewise {

std::vector<std::string> RankPaths(const std::string& path) {
  constexpr std::string_view kPrefix = "rank-";
  std::map<int, std::string> ranks;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !entry.is_directory(error)) continue;
    int rank = -1;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, rank);
    if (parsed.ec != std::errc() || parsed.ptr != end || rank < 0) continue;
    ranks[rank] = entry.path().string();
  }
  if (ranks.empty()) return {path};
  std::vector<std::string> paths;
  for (auto& [rank, directory] : ranks) paths.push_back(std::move(directory));
  return paths;
}

}  // namespace lanewise
