#include "checkpoint/recipes/recipe_words.h"

#include <array>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace lanewise {
namespace {

template <class Enum>
struct Word {
  Enum value;
  std::string_view name;
};

constexpr std::array kKinds = {
    Word{WeightKind::kMxfp8Linear, "mxfp8_linear"},
    Word{WeightKind::kMxfp4Linear, "mxfp4_linear"},
    Word{WeightKind::kMxfp4Experts, "mxfp4_experts"},
};
constexpr std::array kProjections = {
    Word{Projection::kNone, "none"},
    Word{Projection::kGateUp, "gate_up"},
    Word{Projection::kDown, "down"},
};
constexpr std::array kOrders = {
    Word{GateUpOrder::kNone, "none"},
    Word{GateUpOrder::kInterleaved, "interleaved"},
    Word{GateUpOrder::kGateThenUp, "gate_then_up"},
    Word{GateUpOrder::kSeparate, "separate"},
};
constexpr std::array kParallels = {
    Word{Parallel::kUnstated, "unstated"},
    Word{Parallel::kColumn, "column"},
    Word{Parallel::kRow, "row"},
    Word{Parallel::kExpert, "expert"},
    Word{Parallel::kReplicated, "replicated"},
};
constexpr std::array kRoles = {
    Word{FlashmlaRole::kNone, "none"},
    Word{FlashmlaRole::kQFused, "q_fused"},
    Word{FlashmlaRole::kOFused, "o_fused"},
};

// The words of an enumeration, found by a value's type.
std::span<const Word<WeightKind>> TableOf(WeightKind) { return kKinds; }
std::span<const Word<Projection>> TableOf(Projection) { return kProjections; }
std::span<const Word<GateUpOrder>> TableOf(GateUpOrder) { return kOrders; }
std::span<const Word<Parallel>> TableOf(Parallel) { return kParallels; }
std::span<const Word<FlashmlaRole>> TableOf(FlashmlaRole) { return kRoles; }

template <class Enum>
std::string_view WordOf(Enum value) {
  for (const Word<Enum>& word : TableOf(value)) {
    if (word.value == value) return word.name;
  }
  return "";
}

// Whether a recipe says it by leaving the field out.
bool IsUnsaid(std::string_view word) { return word == "none" || word == "unstated"; }

}  // namespace

std::string_view RecipeWord(WeightKind kind) { return WordOf(kind); }
std::string_view RecipeWord(Projection projection) { return WordOf(projection); }
std::string_view RecipeWord(GateUpOrder order) { return WordOf(order); }
std::string_view RecipeWord(Parallel parallel) { return WordOf(parallel); }
std::string_view RecipeWord(FlashmlaRole role) { return WordOf(role); }

template <class Enum>
std::optional<Enum> FromRecipeWord(std::string_view text) {
  for (const Word<Enum>& word : TableOf(Enum())) {
    if (word.name == text && !IsUnsaid(text)) return word.value;
  }
  return std::nullopt;
}

template <class Enum>
std::string RecipeWords() {
  std::string words;
  for (const Word<Enum>& word : TableOf(Enum())) {
    if (IsUnsaid(word.name)) continue;
    absl::StrAppend(&words, words.empty() ? "" : ", ", AbslView(word.name));
  }
  return words;
}

template std::optional<WeightKind> FromRecipeWord(std::string_view);
template std::string RecipeWords<WeightKind>();
template std::optional<Projection> FromRecipeWord(std::string_view);
template std::string RecipeWords<Projection>();
template std::optional<GateUpOrder> FromRecipeWord(std::string_view);
template std::string RecipeWords<GateUpOrder>();
template std::optional<Parallel> FromRecipeWord(std::string_view);
template std::string RecipeWords<Parallel>();
template std::optional<FlashmlaRole> FromRecipeWord(std::string_view);
template std::string RecipeWords<FlashmlaRole>();

}  // namespace lanewise
