#include "checkpoint/recipes/expert_join.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"

namespace lanewise::internal {

absl::StatusOr<MatchedWeight> JoinExperts(const Rule& rule, const std::string& name,
                                          std::span<const Candidate> parts) {
  const bool pairs = rule.gate.has_value();
  // Gate and up can also be apart in tensors that hold all experts.
  const bool numbered = parts[0].expert >= 0;
  const auto refuse = [&](std::string_view problem) {
    return absl::InvalidArgumentError(
        absl::StrCat("experts of ", Quoted(name), ": ", AbslView(problem)));
  };
  Geometry geometry;  // of the first part, then of all
  for (size_t i = 0; i < parts.size(); ++i) {
    const Candidate& part = parts[i];
    // The i-th part is of this expert and half, or the one that should be here is not there.
    const int64_t expert = numbered ? static_cast<int64_t>(pairs ? i / 2 : i) : -1;
    const WeightPart::Half half = !pairs       ? WeightPart::Half::kWhole
                                  : i % 2 == 0 ? WeightPart::Half::kGate
                                               : WeightPart::Half::kUp;
    if (part.expert != expert || part.half != half) {
      const bool twice =
          i > 0 && parts[i - 1].expert == part.expert && parts[i - 1].half == part.half;
      if (twice) {
        return refuse(absl::StrCat(SpecText(*parts[i - 1].weight), " and ", SpecText(*part.weight),
                                   " are the same expert"));
      }
      return refuse(absl::StrCat(numbered ? absl::StrCat("number ", expert, " ") : std::string(),
                                 half == WeightPart::Half::kGate ? "gate "
                                 : half == WeightPart::Half::kUp ? "up "
                                                                 : "",
                                 "is missing, the next there is ", SpecText(*part.weight)));
    }
    const absl::StatusOr<Geometry> its = Mxfp4Geometry(part, !numbered);
    if (!its.ok()) return its.status();
    if (i == 0) geometry = *its;
    if (*its != geometry || part.weight->dtype != parts[0].weight->dtype) {
      return refuse(
          absl::StrCat(SpecText(*part.weight), " differs from ", SpecText(*parts[0].weight)));
    }
  }
  if (pairs && parts.size() % 2 != 0) {
    return refuse(
        absl::StrCat("the up that belongs to ", SpecText(*parts.back().weight), " is missing"));
  }
  if (numbered) {
    geometry.experts = static_cast<int64_t>(pairs ? parts.size() / 2 : parts.size());
  }
  if (pairs) {
    geometry.n *= 2;
  } else if (rule.projection == Projection::kGateUp && geometry.n % 2 != 0) {
    return refuse(absl::StrCat("gate and up together have the odd number of rows ", geometry.n));
  }
  MatchedWeight weight = Describe(rule, geometry, parts[0]);
  weight.name = name + parts[0].weight_end;
  weight.scale_name = name + parts[0].scale_end;
  for (const Candidate& part : parts) {
    weight.parts.push_back({part.weight->name, part.scale->name, numbered ? part.expert : 0,
                            numbered ? 1 : geometry.experts, part.half});
  }
  return weight;
}

}  // namespace lanewise::internal
