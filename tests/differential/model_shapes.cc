#include "tests/differential/model_shapes.h"

#include <cstdlib>

namespace lanewise::differential {

const std::vector<RankShapes>& ModelTable() {
  static const auto* const table = new std::vector<RankShapes>{
      {"DeepSeek V4.1-Flash",
       4,
       5120,
       576,
       576,
       0,
       384,
       6,
       "deepseek",
       {{1792, 5120, 1, "split"},
        {8192, 1280},
        {2048, 4096, 2, "grouped"},
        {5120, 2048},
        {4096, 1280}}},
      {"DeepSeek V4.1-Flash",
       2,
       5120,
       1152,
       1152,
       0,
       384,
       6,
       "deepseek",
       {{1792, 5120, 1, "split"}, {16384, 1280}, {4096, 4096, 4, "grouped"}, {5120, 4096}}},
      {"DeepSeek V4.1-Flash, draft", 4, 5120, 576, 576, 0, 128, 3, "deepseek", {}},
      {"DeepSeek V4-Flash",
       4,
       4096,
       512,
       512,
       0,
       256,
       6,
       "deepseek",
       {{1536, 4096, 1, "split"}, {8192, 1024}, {2048, 4096, 2, "grouped"}, {4096, 2048}}},
      {"DeepSeek V4-Pro",
       8,
       7168,
       384,
       384,
       0,
       384,
       6,
       "deepseek",
       {{2048, 7168, 1, "split"}, {8192, 1536}, {2048, 4096, 2, "grouped"}, {7168, 2048}}},
      {"MiniMax M3", 4, 6144, 768, 768, 3072, 128, 4, "gpt_oss", {{2560, 6144}, {6144, 2048}}},
      {"MiniMax M3", 8, 6144, 384, 384, 1536, 128, 4, "gpt_oss", {{1536, 6144}, {6144, 1024}}},
      // Attention is bf16. 2880 of 4 and 8 ranks are no whole blocks: a rank has what is padded.
      {"gpt-oss-120b", 1, 2880, 2880, 0, 0, 128, 4, "gpt_oss", {}},
      {"gpt-oss-20b", 1, 2880, 2880, 0, 0, 32, 4, "gpt_oss", {}},
      {"gpt-oss", 2, 2880, 1440, 0, 0, 128, 4, "gpt_oss", {}},
      {"gpt-oss", 4, 2880, 736, 0, 0, 128, 4, "gpt_oss", {}},
      {"gpt-oss", 8, 2880, 384, 0, 0, 128, 4, "gpt_oss", {}},
  };
  return *table;
}

std::string OfModels(const std::function<std::string(const RankShapes& rank)>& lines) {
  std::string text;
  for (const RankShapes& rank : ModelTable()) text += lines(rank);
  return text;
}

bool IsNightly() { return std::getenv("LANEWISE_NIGHTLY") != nullptr; }

}  // namespace lanewise::differential
