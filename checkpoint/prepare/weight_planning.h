#ifndef LANEWISE_CHECKPOINT_PREPARE_WEIGHT_PLANNING_H_
#define LANEWISE_CHECKPOINT_PREPARE_WEIGHT_PLANNING_H_

// What planning a linear and planning experts have in common: a rank's part, and the description of
// what comes out.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/prepare/weight_planner.h"

namespace lanewise::internal {

// A part of 0 .. size - 1.
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// What a tensor of the output holds, in the words of its description.
struct Logical {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<std::int64_t> shape;
};

class WeightPlanning {
 public:
  // The references must outlive this.
  WeightPlanning(const MatchedWeight& weight, const TensorsByName& tensors,
                 const PreparationOptions& options);

  // The weight's tensors as they are.
  std::vector<OutputTensor> Copies() const;

 protected:
  // This rank's part of `size`, which must divide into equal multiples of `multiple`.
  absl::StatusOr<Range> Part(const char* what, std::int64_t size, std::int64_t multiple) const;

  // What is split. One rank takes all, whatever the recipe says.
  absl::StatusOr<Parallel> Split() const;

  // An output with the parameters of this moment, made from `sources`, some of which the
  // description names.
  OutputTensor Output(Logical logical, TensorPlan plan, std::vector<std::string> sources,
                      std::vector<std::string> from) const;

  // The dtype of a scale tensor that keeps its meaning: U8 and F8_E8M0 are the same bytes.
  DType CodeDType(const TensorPlan& plan, const std::string& source) const;

  const MatchedWeight& weight_;
  const TensorsByName& tensors_;
  const PreparationOptions& options_;
  std::map<std::string, Param> params_;  // of every output

 private:
  bool IsWholeSource(const TensorPlan& plan, const std::vector<std::string>& sources) const;
};

// An MXFP8 linear, and MXFP4 experts.
absl::StatusOr<std::vector<OutputTensor>> PlanLinear(const MatchedWeight& weight,
                                                     const TensorsByName& tensors,
                                                     const PreparationOptions& options,
                                                     const RowCodesFoldQuestion& row_codes_fold);
absl::StatusOr<std::vector<OutputTensor>> PlanExperts(const MatchedWeight& weight,
                                                      const TensorsByName& tensors,
                                                      const PreparationOptions& options);

}  // namespace lanewise::internal

#endif  // LANEWISE_CHECKPOINT_PREPARE_WEIGHT_PLANNING_H_
