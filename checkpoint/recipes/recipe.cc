#include "checkpoint/recipes/recipe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/files/strict_json.h"
#include "checkpoint/files/text.h"
#include "checkpoint/recipes/recipe_object.h"

namespace lanewise {
namespace {

using internal::RecipeObject;
using Json = nlohmann::json;

absl::StatusOr<std::vector<Presence>> ParsePresences(const Json* json, const std::string& where) {
  std::vector<Presence> presences;
  if (json == nullptr) return presences;
  if (!json->is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": has to be an array"));
  }
  for (const Json& entry : *json) {
    RecipeObject object(entry, where);
    Presence presence;
    for (const std::string& text : object.Texts("tensors", true)) {
      absl::StatusOr<NamePattern> pattern = NamePattern::Parse(text);
      if (pattern.ok()) {
        presence.tensors.push_back(*std::move(pattern));
      } else {
        object.Fail(StdView(pattern.status().message()));
      }
    }
    presence.dtypes = object.DTypes("dtypes", false);
    if (absl::Status status = object.Done(); !status.ok()) return status;
    presences.push_back(std::move(presence));
  }
  return presences;
}

void ParseCompanions(RecipeObject& object, Rule& rule) {
  const Json* const companions = object.Need("companions");
  if (companions == nullptr) return;
  if (!companions->is_array() || companions->empty()) {
    object.Fail("\"companions\" has to be an array that is not empty");
    return;
  }
  for (const Json& pair : *companions) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      object.Fail("\"companions\" holds pairs [end of the weight's name, end of the scale's]");
      return;
    }
    rule.companions.push_back({pair[0].get<std::string>(), pair[1].get<std::string>()});
    if (pair[0] == pair[1]) {
      object.Fail(absl::StrCat("companions ", Quoted(rule.companions.back().weight),
                               ": a weight is not its own scale"));
    }
  }
}

// Every capture of the template is one of the pattern's.
void CheckTemplate(RecipeObject& object, const char* field, const NameTemplate& name,
                   const NamePattern& pattern) {
  for (const std::string& capture : name.CaptureNames()) {
    if (!pattern.HasCapture(capture)) {
      object.Fail(absl::StrCat("\"", field, "\" has {", capture, "}, which ",
                               Quoted(pattern.text()), " has not"));
    }
  }
}

void CheckExpertRule(RecipeObject& object, const Rule& rule) {
  const NamePattern& pattern = rule.weight ? *rule.weight : *rule.gate;
  if (rule.gate && rule.up) {
    std::vector<std::string> gate = rule.gate->CaptureNames();
    std::vector<std::string> up = rule.up->CaptureNames();
    std::sort(gate.begin(), gate.end());
    std::sort(up.begin(), up.end());
    if (gate != up) object.Fail("\"gate\" and \"up\" have to have the same captures");
  }
  if (rule.projection == Projection::kNone) {
    object.Fail("experts need \"projection\": gate_up or down");
  }
  if (rule.projection == Projection::kGateUp && rule.order == GateUpOrder::kNone) {
    object.Fail(
        "a fused gate/up weight needs \"order\": interleaved or gate_then_up; bytes do not tell");
  }
  if (rule.projection == Projection::kDown && rule.order != GateUpOrder::kNone) {
    object.Fail("\"order\" is of gate/up weights");
  }
  if (rule.group.empty()) object.Fail("experts need \"group\", a name of their layer");
  CheckTemplate(object, "group", rule.group, pattern);
  if (rule.group.HasCapture("expert")) object.Fail("\"group\" may not have {expert}");
  const bool fuses = pattern.HasCapture("expert") || rule.gate.has_value();
  if (!fuses) {
    if (!rule.output.empty()) {
      object.Fail("\"output\" is for experts that are fused; these keep their name");
    }
    return;
  }
  if (rule.output.empty()) {
    object.Fail("experts in tensors of their own need \"output\", a name for the fused one");
    return;
  }
  CheckTemplate(object, "output", rule.output, pattern);
  for (const std::string& capture : pattern.CaptureNames()) {
    if (capture == "expert" ? rule.output.HasCapture(capture) : !rule.output.HasCapture(capture)) {
      object.Fail(
          absl::StrCat("\"output\" has to have every capture but {expert}, or weights "
                       "of two layers become one; it differs in {",
                       capture, "}"));
    }
  }
}

absl::StatusOr<Rule> ParseRule(const Json& json, const std::string& where) {
  RecipeObject object(json, where);
  Rule rule;
  rule.refuse = object.Text("refuse", false);
  rule.weight = object.Pattern("weight");
  rule.gate = object.Pattern("gate");
  rule.up = object.Pattern("up");
  ParseCompanions(object, rule);
  rule.dtypes = object.DTypes("dtypes", true);
  if (!object.ok()) return object.Done();
  if (rule.weight.has_value() == rule.gate.has_value() ||
      rule.gate.has_value() != rule.up.has_value()) {
    object.Fail("needs either \"weight\" or both \"gate\" and \"up\"");
    return object.Done();
  }
  if (!rule.refuse.empty()) {
    if (absl::Status status = object.Done(); !status.ok()) return status;
    return rule;
  }
  rule.kind = object.OneOf("kind", WeightKind::kMxfp8Linear, true);
  rule.projection = object.OneOf("projection", Projection::kNone, false);
  rule.order = object.OneOf("order", GateUpOrder::kNone, false);
  rule.parallel = object.OneOf("parallel", Parallel::kUnstated, false);
  rule.output = object.Template("output");
  rule.group = object.Template("group");
  if (rule.kind == WeightKind::kMxfp8Linear) {
    if (object.Find("packing") != nullptr) object.Fail("\"packing\" is of 4-bit weights");
  } else if (const std::string packing = object.Text("packing", true);
             object.ok() && packing != "low_nibble_first") {
    object.Fail(absl::StrCat("\"packing\" is ", Quoted(packing),
                             ": only low_nibble_first is prepared (of two elements in a byte the "
                             "one with the smaller k in the low nibble)"));
  }
  if (const Json* const flashmla = object.Find("flashmla")) {
    RecipeObject role(*flashmla, absl::StrCat(where, ": flashmla"));
    rule.flashmla = role.OneOf("role", FlashmlaRole::kNone, true);
    if (rule.flashmla == FlashmlaRole::kQFused) rule.head_dim = role.Positive("head_dim");
    if (rule.flashmla == FlashmlaRole::kOFused) {
      rule.heads_per_group = role.Positive("heads_per_group");
    }
    if (absl::Status status = role.Done(); !status.ok()) return status;
    if (rule.kind != WeightKind::kMxfp8Linear) object.Fail("\"flashmla\" is of mxfp8_linear");
  }
  if (rule.kind == WeightKind::kMxfp4Experts) {
    if (rule.gate) {
      // That they are apart is all there is to say of a pair's projection and order.
      if (rule.projection != Projection::kNone || rule.order != GateUpOrder::kNone) {
        object.Fail("\"gate\" and \"up\" say projection and order already");
      }
      rule.projection = Projection::kGateUp;
      rule.order = GateUpOrder::kSeparate;
    } else if (rule.order == GateUpOrder::kSeparate) {
      object.Fail("\"order\": separate is said by \"gate\" and \"up\"");
    }
    CheckExpertRule(object, rule);
  } else {
    if (rule.gate) object.Fail("\"gate\" and \"up\" are of mxfp4_experts");
    if (rule.projection != Projection::kNone || rule.order != GateUpOrder::kNone ||
        !rule.output.empty() || !rule.group.empty()) {
      object.Fail("\"projection\", \"order\", \"output\" and \"group\" are of mxfp4_experts");
    }
    if (rule.parallel == Parallel::kExpert) {
      object.Fail("\"parallel\": expert is of mxfp4_experts");
    }
  }
  if (absl::Status status = object.Done(); !status.ok()) return status;
  return rule;
}

}  // namespace

bool Presence::Holds(std::span<const TensorSpec> specs) const {
  return std::any_of(specs.begin(), specs.end(), [&](const TensorSpec& spec) {
    if (!dtypes.empty() && std::find(dtypes.begin(), dtypes.end(), spec.dtype) == dtypes.end()) {
      return false;
    }
    return std::any_of(tensors.begin(), tensors.end(), [&](const NamePattern& pattern) {
      return pattern.Match(spec.name).has_value();
    });
  });
}

absl::StatusOr<Recipe> Recipe::Parse(std::string_view text, std::string_view origin) {
  const absl::StatusOr<Json> json = ParseStrictJson(text, origin);
  if (!json.ok()) return json.status();
  RecipeObject object(*json, std::string(origin));
  Recipe recipe;
  recipe.json = std::string(text);
  recipe.name = object.Text("name", true);
  recipe.about = object.Text("about", false);
  recipe.generic = object.Flag("generic");
  const std::string where = object.where();
  absl::StatusOr<std::vector<Presence>> recognised_by =
      ParsePresences(object.Find("recognised_by"), absl::StrCat(where, ": recognised_by"));
  if (!recognised_by.ok()) return recognised_by.status();
  recipe.recognised_by = *std::move(recognised_by);
  absl::StatusOr<std::vector<Presence>> unless =
      ParsePresences(object.Find("unless"), absl::StrCat(where, ": unless"));
  if (!unless.ok()) return unless.status();
  recipe.unless = *std::move(unless);
  if (const Json* const rules = object.Need("rules")) {
    if (!rules->is_array()) object.Fail("\"rules\" has to be an array");
    for (const Json& rule : *rules) {
      if (!object.ok()) break;
      absl::StatusOr<Rule> parsed =
          ParseRule(rule, absl::StrCat(where, ": rule ", recipe.rules.size() + 1));
      if (!parsed.ok()) return parsed.status();
      recipe.rules.push_back(*std::move(parsed));
    }
  }
  if (absl::Status status = object.Done(); !status.ok()) return status;
  return recipe;
}

absl::StatusOr<Recipe> Recipe::FromFile(const std::string& path) {
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  return Parse({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()}, path);
}

bool Recipe::Recognises(std::span<const TensorSpec> tensors) const {
  const auto holds = [&](const Presence& presence) { return presence.Holds(tensors); };
  return !recognised_by.empty() && std::all_of(recognised_by.begin(), recognised_by.end(), holds) &&
         std::none_of(unless.begin(), unless.end(), holds);
}

}  // namespace lanewise
