#ifndef LANEWISE_TESTS_TOOLS_FAMILIES_H_
#define LANEWISE_TESTS_TOOLS_FAMILIES_H_

// A small checkpoint of random weights for each family that a built-in recipe knows.

#include <string>
#include <vector>

#include "tools/demo/checkpoint_maker.h"

namespace lanewise {

struct Family {
  std::string name;    // of the test case
  std::string recipe;  // that has to be recognised
  std::vector<std::string> targets;
  tools::CheckpointMaker (*make)();
};

// Sizes that some layout pads: a hidden size of 320, expert inner sizes of 192.
const std::vector<Family>& Families();

// A family of that name.
const Family& FamilyNamed(const std::string& name);

// DeepSeek-like and gpt-oss-like checkpoints whose sizes divide among 4 ranks for every target.
tools::CheckpointMaker DividingDeepseek();
tools::CheckpointMaker DividingGptOss();

}  // namespace lanewise

#endif  // LANEWISE_TESTS_TOOLS_FAMILIES_H_
