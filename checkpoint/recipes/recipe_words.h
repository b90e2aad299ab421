#ifndef LANEWISE_CHECKPOINT_RECIPES_RECIPE_WORDS_H_
#define LANEWISE_CHECKPOINT_RECIPES_RECIPE_WORDS_H_

// The notions that a recipe is written in, and their words.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lanewise {

enum class WeightKind : uint8_t {
  kMxfp8Linear,   // e4m3 elements (or bf16 that was dequantized from them) and E8M0 codes
  kMxfp4Linear,   // e2m1 elements, two a byte, and E8M0 codes
  kMxfp4Experts,  // the same, of all experts of a layer
};

// What an expert weight does in its layer.
enum class Projection : uint8_t {
  kNone,    // not an expert weight
  kGateUp,  // [2 inter, hidden]: gate and up
  kDown,    // [hidden, inter]
};

// Where the rows of gate and up lie.
enum class GateUpOrder : uint8_t {
  kNone,         // not a gate/up weight
  kInterleaved,  // gate row i is row 2 i, up row i is row 2 i + 1
  kGateThenUp,   // all gate rows, then all up rows
  kSeparate,     // each in a tensor of its own
};

// How tensor parallelism splits the weight among ranks.
enum class Parallel : uint8_t {
  kUnstated,    // the recipe does not say: more than one rank has to be refused
  kColumn,      // its rows n (of a gate/up weight: inter, gate and up alike)
  kRow,         // its columns k
  kExpert,      // its experts
  kReplicated,  // not at all: every rank has it whole
};

// The weight's part in FlashMLA's fused layouts.
enum class FlashmlaRole : uint8_t {
  kNone,
  kQFused,  // wq_b: [heads * head_dim, k]
  kOFused,  // wo_a: [n, heads_per_group * head_dim]
};

// The names as recipes and messages have them: "mxfp8_linear", "gate_up", "interleaved", "column",
// "q_fused", ...
std::string_view RecipeWord(WeightKind kind);
std::string_view RecipeWord(Projection projection);
std::string_view RecipeWord(GateUpOrder order);
std::string_view RecipeWord(Parallel parallel);
std::string_view RecipeWord(FlashmlaRole role);

// The value that a recipe's word stands for. What is said by leaving the field out ("none",
// "unstated") has no word there.
template <class Enum>
std::optional<Enum> FromRecipeWord(std::string_view word);

// All words of an enumeration that a recipe may hold, for messages: "column, row, ...".
template <class Enum>
std::string RecipeWords();

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RECIPES_RECIPE_WORDS_H_
