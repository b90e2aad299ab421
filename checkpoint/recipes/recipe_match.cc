#include "checkpoint/recipes/recipe_match.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"
#include "checkpoint/recipes/expert_join.h"
#include "checkpoint/recipes/name_pattern.h"
#include "checkpoint/recipes/weight_candidate.h"

namespace lanewise {
namespace {

using internal::Candidate;
using internal::Describe;
using internal::Geometry;
using internal::JoinExperts;
using internal::Mxfp4Geometry;
using internal::Mxfp8Geometry;
using internal::ShapeError;
using internal::SpecText;
using Half = WeightPart::Half;

bool IsQuantized(DType dtype) {
  switch (dtype) {
    case DType::kF8E4m3:
    case DType::kF8E5m2:
    case DType::kF8E8m0:
    case DType::kF8E4m3Fnuz:
    case DType::kF8E5m2Fnuz:
    case DType::kF6E2m3:
    case DType::kF6E3m2:
    case DType::kF4:
      return true;
    default:
      return false;
  }
}

bool IsCodes(DType dtype) { return dtype == DType::kU8 || dtype == DType::kF8E8m0; }

// One run of a recipe over a checkpoint.
class Matcher {
 public:
  Matcher(const Recipe& recipe, std::span<const TensorSpec> tensors)
      : recipe_(recipe), tensors_(tensors) {
    by_name_.reserve(tensors.size());
    for (const TensorSpec& spec : tensors) by_name_.emplace(spec.name, &spec);
  }

  RecipeMatch Run() {
    for (const TensorSpec& spec : tensors_) {
      for (size_t rule = 0; rule < recipe_.rules.size(); ++rule) {
        if (TryRule(spec, rule)) break;
      }
    }
    for (const Fused& fused : fused_) AddExperts(fused);
    CheckGroups();
    std::sort(match_.weights.begin(), match_.weights.end(),
              [&](const MatchedWeight& a, const MatchedWeight& b) {
                return Find(a.parts[0].weight) < Find(b.parts[0].weight);
              });
    for (const TensorSpec& spec : tensors_) {
      if (claimed_.contains(spec.name)) continue;
      if (IsQuantized(spec.dtype)) {
        Refuse(absl::StrCat("tensor ", SpecText(spec), " is quantized, but recipe ",
                            Quoted(recipe_.name), " has no rule for it"),
               {&spec});
      } else {
        match_.copied.push_back(spec.name);
      }
    }
    return std::move(match_);
  }

 private:
  // Parts that one fused weight is made of.
  struct Fused {
    size_t rule;
    std::string name;  // of the output, without the weight's end
    std::vector<Candidate> parts;
  };

  const TensorSpec* Find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  // Whether the tensor is of this rule, which is then done with it.
  bool TryRule(const TensorSpec& spec, size_t rule_number) {
    const Rule& rule = recipe_.rules[rule_number];
    if (std::find(rule.dtypes.begin(), rule.dtypes.end(), spec.dtype) == rule.dtypes.end()) {
      return false;
    }
    std::optional<Candidate> fitting;
    std::string_view stem;
    for (const Companion& companion : rule.companions) {
      if (!std::string_view(spec.name).ends_with(companion.weight)) continue;
      stem = std::string_view(spec.name).substr(0, spec.name.size() - companion.weight.size());
      fitting = Fit(rule, stem);
      if (!fitting) continue;
      fitting->weight_end = companion.weight;
      break;
    }
    if (!fitting) return false;
    Candidate& part = *fitting;
    part.weight = &spec;
    if (claimed_.contains(spec.name)) return true;  // another weight's scale

    std::vector<const TensorSpec*> scales;
    std::vector<std::string> looked_for;
    for (const Companion& companion : rule.companions) {
      if (companion.weight != part.weight_end) continue;
      looked_for.push_back(absl::StrCat(AbslView(stem), companion.scale));
      if (const TensorSpec* const scale = Find(looked_for.back())) {
        if (scales.empty()) part.scale_end = companion.scale;
        scales.push_back(scale);
      }
    }
    if (spec.dtype == DType::kBf16 && (scales.size() != 1 || !IsCodes(scales[0]->dtype))) {
      return false;  // an ordinary weight
    }
    std::vector<const TensorSpec*> all = scales;
    all.insert(all.begin(), &spec);
    if (!rule.refuse.empty()) {
      Refuse(absl::StrCat("tensor ", SpecText(spec), ": ", rule.refuse), all);
      return true;
    }
    if (scales.empty()) {
      std::string names;
      for (const std::string& name : looked_for) {
        absl::StrAppend(&names, names.empty() ? "" : ", ", Quoted(name));
      }
      Refuse(absl::StrCat("weight ", SpecText(spec), " has no scale: there is no ", names), all);
      return true;
    }
    if (scales.size() > 1) {
      Refuse(absl::StrCat("weight ", SpecText(spec), " has two scales, ", SpecText(*scales[0]),
                          " and ", SpecText(*scales[1])),
             all);
      return true;
    }
    part.scale = scales[0];
    if (!IsCodes(part.scale->dtype)) {
      Refuse(absl::StrCat("weight ", SpecText(spec), ": its scale ", SpecText(*part.scale),
                          " does not hold E8M0 codes (U8 or F8_E8M0)",
                          part.scale->dtype == DType::kF8E4m3
                              ? "; e4m3 scales are NVFP4, which is not MXFP4"
                              : "; scales that are not powers of two cannot be prepared exactly"),
             all);
      return true;
    }
    if (claimed_.contains(part.scale->name)) {
      Refuse(absl::StrCat("weight ", SpecText(spec), ": its scale ", SpecText(*part.scale),
                          " belongs to another tensor already"),
             {&spec});
      return true;
    }
    Claim(spec);
    Claim(*part.scale);
    if (rule.output.empty()) {
      AddSingle(rule, part);
      return true;
    }
    const std::string output = rule.output.Expand(part.captures);
    const auto [at, added] = fused_at_.emplace(std::pair(rule_number, output), fused_.size());
    if (added) fused_.push_back({rule_number, output, {}});
    fused_[at->second].parts.push_back(std::move(part));
    return true;
  }

  // What the rule's patterns make of this stem: captures, half and expert.
  static std::optional<Candidate> Fit(const Rule& rule, std::string_view stem) {
    Candidate part;
    // The patterns that a rule has, with what a fit of each means.
    const std::pair<const std::optional<NamePattern>*, Half> patterns[] = {
        {&rule.weight, Half::kWhole}, {&rule.gate, Half::kGate}, {&rule.up, Half::kUp}};
    std::optional<Captures> captures;
    for (const auto& [pattern, half] : patterns) {
      if (captures || !pattern->has_value()) continue;
      captures = pattern->value().Match(stem);
      part.half = half;
    }
    if (!captures) return std::nullopt;
    part.captures = *std::move(captures);
    if (rule.output.empty()) return part;
    if (const auto expert = part.captures.find("expert"); expert != part.captures.end()) {
      // Nine digits hold more experts than any file; what is longer shows as numbers missing.
      part.expert = expert->second.size() <= 9 ? std::stoll(expert->second) : 1'000'000'000;
    }
    return part;
  }

  void Claim(const TensorSpec& spec) { claimed_.insert(spec.name); }

  void Refuse(std::string reason, const std::vector<const TensorSpec*>& tensors) {
    Refusal refusal;
    refusal.reason = std::move(reason);
    for (const TensorSpec* const spec : tensors) {
      if (!claimed_.insert(spec->name).second) continue;
      refusal.tensors.push_back(spec->name);
    }
    match_.refused.push_back(std::move(refusal));
  }

  // For tensors that are claimed already.
  void RefuseClaimed(std::string_view reason, std::span<const Candidate> parts) {
    Refusal refusal;
    refusal.reason = reason;
    for (const Candidate& part : parts) {
      refusal.tensors.push_back(part.weight->name);
      refusal.tensors.push_back(part.scale->name);
    }
    match_.refused.push_back(std::move(refusal));
  }

  // A weight in one tensor: a linear, or experts fused already.
  void AddSingle(const Rule& rule, const Candidate& part) {
    const bool fused = rule.kind == WeightKind::kMxfp4Experts;
    const absl::StatusOr<Geometry> geometry =
        rule.kind == WeightKind::kMxfp8Linear ? Mxfp8Geometry(part) : Mxfp4Geometry(part, fused);
    if (!geometry.ok()) {
      RefuseClaimed(StdView(geometry.status().message()), {&part, 1});
      return;
    }
    MatchedWeight weight = Describe(rule, *geometry, part);
    weight.name = part.weight->name;
    weight.scale_name = part.scale->name;
    weight.parts = {{part.weight->name, part.scale->name, 0, geometry->experts, Half::kWhole}};
    std::string problem;
    if (weight.projection == Projection::kGateUp && weight.n % 2 != 0) {
      problem = absl::StrCat("gate and up together have the odd number of rows ", weight.n);
    }
    if (weight.flashmla == FlashmlaRole::kQFused && weight.n % weight.head_dim != 0) {
      problem = absl::StrCat("n is not a multiple of the head size ", weight.head_dim);
    }
    if (weight.flashmla == FlashmlaRole::kOFused) {
      if (weight.k % weight.heads_per_group != 0) {
        problem = absl::StrCat("k is not a multiple of the ", weight.heads_per_group,
                               " heads of a group");
      }
      weight.head_dim = weight.k / weight.heads_per_group;
    }
    if (!problem.empty()) {
      RefuseClaimed(StdView(ShapeError(part, problem).message()), {&part, 1});
      return;
    }
    match_.weights.push_back(std::move(weight));
  }

  // Experts that stand in tensors of their own.
  void AddExperts(const Fused& fused) {
    const Rule& rule = recipe_.rules[fused.rule];
    std::vector<Candidate> parts = fused.parts;
    std::sort(parts.begin(), parts.end(), [](const Candidate& a, const Candidate& b) {
      return std::tie(a.expert, a.half, a.weight->name) <
             std::tie(b.expert, b.half, b.weight->name);
    });
    absl::StatusOr<MatchedWeight> weight = JoinExperts(rule, fused.name, parts);
    if (!weight.ok()) {
      RefuseClaimed(StdView(weight.status().message()), parts);
      return;
    }
    for (const std::string& name : {weight->name, weight->scale_name}) {
      if (const TensorSpec* const taken = Find(name)) {
        RefuseClaimed(
            absl::StrCat("experts of ", Quoted(fused.name),
                         ": the fused tensor would be called as ", SpecText(*taken), " is already"),
            parts);
        return;
      }
    }
    match_.weights.push_back(*std::move(weight));
  }

  // Refuses layers whose weights do not belong together.
  void CheckGroups() {
    std::map<std::string, std::vector<const MatchedWeight*>> groups;
    for (const MatchedWeight& weight : match_.weights) {
      if (!weight.group.empty()) groups[weight.group].push_back(&weight);
    }
    std::unordered_set<std::string> refused;  // groups
    for (const auto& [group, members] : groups) {
      const std::string problem = GroupProblem(members);
      if (problem.empty()) continue;
      refused.insert(group);
      Refusal refusal;
      refusal.reason = absl::StrCat("layer ", Quoted(group), ": ", problem);
      for (const MatchedWeight* const weight : members) {
        for (const WeightPart& part : weight->parts) {
          refusal.tensors.push_back(part.weight);
          refusal.tensors.push_back(part.scale);
        }
      }
      match_.refused.push_back(std::move(refusal));
    }
    std::erase_if(match_.weights,
                  [&](const MatchedWeight& weight) { return refused.contains(weight.group); });
  }

  // Why these weights cannot be of one layer, or "". One of gate/up and down may be missing: a
  // shard by itself need not hold both.
  static std::string GroupProblem(std::span<const MatchedWeight* const> members) {
    const MatchedWeight* gate_up = nullptr;
    const MatchedWeight* down = nullptr;
    for (const MatchedWeight* const weight : members) {
      const MatchedWeight*& place = weight->projection == Projection::kGateUp ? gate_up : down;
      if (place != nullptr) {
        return absl::StrCat("has both ", Quoted(place->name), " and ", Quoted(weight->name), " as ",
                            AbslView(RecipeWord(weight->projection)));
      }
      place = weight;
    }
    if (gate_up == nullptr || down == nullptr) return "";
    if (gate_up->experts == down->experts && gate_up->inter() == down->inter() &&
        gate_up->hidden() == down->hidden()) {
      return "";
    }
    const auto text = [](const MatchedWeight& weight) {
      return absl::StrCat(Quoted(weight.name), " (", weight.experts, " experts, inter ",
                          weight.inter(), ", hidden ", weight.hidden(), ")");
    };
    return absl::StrCat(text(*gate_up), " and ", text(*down), " do not belong together");
  }

  const Recipe& recipe_;
  const std::span<const TensorSpec> tensors_;
  std::unordered_map<std::string_view, const TensorSpec*> by_name_;
  std::unordered_set<std::string_view> claimed_;  // names that stand in match_ or fused_
  std::vector<Fused> fused_;
  std::map<std::pair<size_t, std::string>, size_t> fused_at_;  // rule, output -> place in fused_
  RecipeMatch match_;
};

}  // namespace

int64_t RecipeMatch::tensor_count() const {
  size_t count = copied.size();
  for (const Refusal& refusal : refused) count += refusal.tensors.size();
  for (const MatchedWeight& weight : weights) count += 2 * weight.parts.size();
  return static_cast<int64_t>(count);
}

RecipeMatch MatchRecipe(const Recipe& recipe, std::span<const TensorSpec> tensors) {
  return Matcher(recipe, tensors).Run();
}

std::vector<TensorSpec> SpecsOf(const TensorSet& set) {
  std::vector<TensorSpec> specs;
  specs.reserve(set.tensors().size());
  for (const TensorSet::Tensor& tensor : set.tensors()) specs.push_back(*tensor.info);
  return specs;
}

}  // namespace lanewise
