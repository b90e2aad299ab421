#include "checkpoint/recipes/recipe_set.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"
#include "checkpoint/safetensors/dtype.h"

namespace lanewise {
namespace {

// The texts of recipes/*.json, made by the build.
constexpr std::string_view kBuiltInTexts[] = {
#include "checkpoint/recipes/built_in_recipes.inc"
};

bool Is(DType dtype, std::initializer_list<DType> these) {
  return std::find(these.begin(), these.end(), dtype) != these.end();
}

// What makes a checkpoint one that cannot be prepared: the reason, or "".
std::string KnownRefusal(std::span<const TensorSpec> tensors) {
  std::unordered_map<std::string_view, const TensorSpec*> by_name;
  by_name.reserve(tensors.size());
  for (const TensorSpec& spec : tensors) by_name.emplace(spec.name, &spec);
  const auto stem_before = [](std::string_view name,
                              std::string_view end) -> std::optional<std::string_view> {
    if (!name.ends_with(end)) return std::nullopt;
    return name.substr(0, name.size() - end.size());
  };
  const auto beside = [&](std::string_view stem, std::string_view end) -> const TensorSpec* {
    const auto found = by_name.find(absl::StrCat(AbslView(stem), AbslView(end)));
    return found == by_name.end() ? nullptr : found->second;
  };
  const auto say = [](const TensorSpec& spec, std::string_view reason) {
    return absl::StrCat("tensor ", Quoted(spec.name), " (", AbslView(DTypeName(spec.dtype)), " ",
                        DimensionsText(spec.shape), "): ", AbslView(reason));
  };
  for (const TensorSpec& spec : tensors) {
    if (const auto stem = stem_before(spec.name, ".qweight");
        stem && Is(spec.dtype, {DType::kI32, DType::kU32})) {
      return say(spec, "this is integer quantization as of GPTQ or AWQ, which is not prepared");
    }
    for (const std::string_view end : {".weight_scale_inv", ".weight_scale", ".scale"}) {
      const auto stem = stem_before(spec.name, end);
      if (!stem) continue;
      if (spec.dtype == DType::kF8E4m3) {
        return say(spec,
                   "e4m3 scales of 16 elements with a second scale over them are NVFP4, which is "
                   "not prepared");
      }
      const TensorSpec* const weight = beside(*stem, ".weight");
      if (weight != nullptr && Is(spec.dtype, {DType::kF32, DType::kF16, DType::kBf16}) &&
          Is(weight->dtype, {DType::kF8E4m3, DType::kF8E5m2, DType::kF8E4m3Fnuz, DType::kF8E5m2Fnuz,
                             DType::kI8})) {
        return say(
            spec,
            "the scales are multipliers (as of DeepSeek V3's 128 x 128 blocks), not powers of "
            "two stored as E8M0 codes, so the weights cannot be prepared exactly");
      }
    }
  }
  return "";
}

std::string Names(std::span<const Recipe* const> recipes) {
  std::string names;
  for (const Recipe* const recipe : recipes) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", recipe->name);
  }
  return names;
}

}  // namespace

absl::StatusOr<RecipeSet> RecipeSet::BuiltIn() {
  RecipeSet set;
  for (const std::string_view text : kBuiltInTexts) {
    absl::StatusOr<Recipe> recipe =
        Recipe::Parse(text, absl::StrCat("built-in recipe number ", set.recipes_.size() + 1));
    if (!recipe.ok()) return recipe.status();
    set.recipes_.push_back(*std::move(recipe));
  }
  std::sort(set.recipes_.begin(), set.recipes_.end(),
            [](const Recipe& a, const Recipe& b) { return a.name < b.name; });
  return set;
}

absl::StatusOr<const Recipe*> RecipeSet::Find(std::string_view name) const {
  std::vector<const Recipe*> all;
  for (const Recipe& recipe : recipes_) {
    if (recipe.name == name) return &recipe;
    all.push_back(&recipe);
  }
  return absl::NotFoundError(
      absl::StrCat("there is no recipe ", Quoted(name), "; there are ", Names(all)));
}

absl::StatusOr<RecipeSet::Choice> RecipeSet::Choose(std::span<const TensorSpec> tensors) const {
  for (const bool generic : {false, true}) {
    std::vector<const Recipe*> fitting;
    for (const Recipe& recipe : recipes_) {
      if (recipe.generic == generic && recipe.Recognises(tensors)) fitting.push_back(&recipe);
    }
    if (fitting.size() > 1) {
      return absl::FailedPreconditionError(absl::StrCat("the tensors' names fit several recipes (",
                                                        Names(fitting),
                                                        "): name the one that is meant"));
    }
    if (fitting.size() == 1) {
      return Choice{fitting[0], absl::StrCat("recipe ", fitting[0]->name, ": ", fitting[0]->about,
                                             ", recognised by the tensors' names")};
    }
    if (const std::string refusal = generic ? "" : KnownRefusal(tensors); !refusal.empty()) {
      return absl::FailedPreconditionError(refusal);
    }
  }
  absl::StatusOr<const Recipe*> none = Find("none");
  if (!none.ok()) return none.status();
  return Choice{*none, "recipe none: no recipe recognises these tensors, all of them are copied"};
}

}  // namespace lanewise
