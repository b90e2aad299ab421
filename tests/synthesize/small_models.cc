#include "tests/synthesize/small_models.h"

#include "checkpoint/synthesize/synthesize_model.h"

namespace lanewise {

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  const auto models = SyntheticModel::BuiltIn();
  for (const SyntheticModel& model : *models) names.push_back(model.name());
  return names;
}

std::vector<std::string> SynthesizeSmall(const std::string& model, const std::string& out) {
  std::vector<std::string> arguments = {"synthesize", "--model", model, out, "--seed", "17"};
  for (const char* more : {"--layers", "1", "--experts", "3", "--size", "vocab=64", "--size",
                           "hidden=256", "--size", "inter=128", "--shard-size", "1MB"}) {
    arguments.push_back(more);
  }
  if (model.starts_with("deepseek")) {
    for (const char* size : {"heads=8", "groups=1", "o_rank=128", "q_rank=128", "index_heads=2"}) {
      arguments.insert(arguments.end(), {"--size", size});
    }
  } else if (model == "minimax-m3") {
    arguments.insert(arguments.end(), {"--size", "dense_inter=192", "--size", "heads=4"});
  }
  return arguments;
}

}  // namespace lanewise
