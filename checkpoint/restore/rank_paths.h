#ifndef LANEWISE_CHECKPOINT_RESTORE_RANK_PATHS_H_
#define LANEWISE_CHECKPOINT_RESTORE_RANK_PATHS_H_

#include <string>
#include <vector>

namespace lanewise {

// The prepared checkpoints at a path: the directories rank-0, rank-1, ... in it, by their numbers
// (not all need be there), or the path itself where it has none.
std::vector<std::string> RankPaths(const std::string& path);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RESTORE_RANK_PATHS_H_
