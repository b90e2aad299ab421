#include "tools/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace lanewise::tools {
namespace {

// How many letters inserted, left out or replaced make one of the other.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestName(std::string_view found, std::span<const std::string> names) {
  std::string nearest;
  std::size_t least = 3;
  for (const std::string& name : names) {
    // So that the distance takes no time, whatever was found.
    if (found.size() > name.size() + 2) continue;
    const std::size_t distance = Distance(found, name);
    if (distance < least && distance < name.size() && distance < found.size()) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace lanewise::tools
