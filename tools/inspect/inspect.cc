#include "tools/inspect/inspect.h"

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "checkpoint/prepared.h"
#include "checkpoint/recipes/recipe_match.h"
#include "checkpoint/recipes/recipe_set.h"
#include "checkpoint/safetensors/tensor_set.h"
#include "weights/parallel.h"

namespace lanewise::tools {
namespace {

using Elements = std::map<std::string, DType, std::less<>>;

// What the recipe that fits says of U8 and I8 tensors.
void AddRecipeElements(const std::vector<TensorSpec>& specs, Inspection* inspection,
                       Elements* elements) {
  const absl::StatusOr<RecipeSet> recipes = RecipeSet::BuiltIn();
  if (!recipes.ok()) return;
  const absl::StatusOr<RecipeSet::Choice> choice = recipes->Choose(specs);
  if (!choice.ok()) {
    inspection->notes.emplace_back(choice.status().message());
    return;
  }
  inspection->recipe = choice->recipe->name;
  for (const MatchedWeight& weight : MatchRecipe(*choice->recipe, specs).weights) {
    for (const WeightPart& part : weight.parts) {
      (*elements)[part.scale] = DType::kF8E8m0;
      if (weight.kind != WeightKind::kMxfp8Linear) (*elements)[part.weight] = DType::kF4;
    }
  }
}

// U8 tensors named as scales are named, where no recipe knows better.
bool IsNamedAsCodes(const TensorSpec& tensor) {
  if (tensor.dtype != DType::kU8) return false;
  for (const std::string_view end : {"scale", "scales", "scale_inv"}) {
    if (tensor.name.ends_with(end)) return true;
  }
  return false;
}

// A prepared tensor that a layout moved is stored as U8; what its bytes are is its logical type.
// Padding is counted too: it is there for a kernel to read.
DType ElementsOf(const InspectedTensor& tensor, const Elements& known) {
  if (tensor.prepared) return tensor.prepared->dtype;
  if (const auto found = known.find(tensor.stored.name); found != known.end()) return found->second;
  return IsNamedAsCodes(tensor.stored) ? DType::kF8E8m0 : tensor.stored.dtype;
}

}  // namespace

absl::StatusOr<Inspection> Inspect(const std::string& path, bool values, int threads) {
  absl::StatusOr<TensorSet> opened = TensorSet::Open(path);
  if (!opened.ok()) return opened.status();
  Inspection inspection;
  inspection.notes = opened->notes();
  Elements elements;
  std::unique_ptr<PreparedCheckpoint> prepared;
  if (IsPrepared(*opened)) {
    absl::StatusOr<PreparedCheckpoint> checked = PreparedCheckpoint::Open(path, "");
    if (!checked.ok()) return checked.status();
    prepared = std::make_unique<PreparedCheckpoint>(*std::move(checked));
    inspection.target = prepared->target();
    inspection.recipe = prepared->recipe();
    inspection.sources = prepared->sources();
  } else {
    AddRecipeElements(SpecsOf(*opened), &inspection, &elements);
  }
  const TensorSet& set = prepared != nullptr ? prepared->set() : *opened;
  for (const TensorSet::Tensor& tensor : set.tensors()) {
    InspectedTensor one;
    one.stored = *tensor.info;
    one.file = set.shards()[tensor.shard].name;
    one.bytes = tensor.info->byte_count();
    if (prepared != nullptr) one.prepared = *prepared->Describe(tensor.name());
    one.elements = ElementsOf(one, elements);
    inspection.tensors.push_back(std::move(one));
  }
  if (!values) return inspection;
  ParallelFor(std::ssize(inspection.tensors), threads,
              [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t i = begin; i < end; ++i) {
                  InspectedTensor& one = inspection.tensors[i];
                  if (!IsCounted(one.elements)) continue;
                  one.counts = CountElements(one.elements, set.Bytes(set.tensors()[i]));
                }
              });
  if (absl::Status status = set.CheckUnchanged(); !status.ok()) return status;
  return inspection;
}

}  // namespace lanewise::tools
