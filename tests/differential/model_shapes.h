#ifndef LANEWISE_TESTS_DIFFERENTIAL_MODEL_SHAPES_H_
#define LANEWISE_TESTS_DIFFERENTIAL_MODEL_SHAPES_H_

// The layers of the models that gfx942's kernels are for, as one rank has them. What multiplies
// weights takes its shapes from here, with all of K: a reduction is K's. Rows of weights and
// experts are scaled down where the whole would only repeat them, and are whole in a nightly run.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::differential {

// A projection [n, k] of MXFP8, of `groups` groups with columns of their own.
struct DenseShape {
  std::int64_t n;
  std::int64_t k;
  std::int64_t groups = 1;
  std::string_view plan = "dense";  // or "grouped" or "split": DenseGemv::Plan
};

struct RankShapes {
  std::string_view model;
  int ranks = 1;
  std::int64_t hidden = 0;
  // A rank's columns between two projections, each with gate and up: of a routed expert, of the
  // shared experts together, of a layer without experts. 0: there is none.
  std::int64_t inter = 0;
  std::int64_t shared_inter = 0;
  std::int64_t layer_inter = 0;
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::string_view swiglu;             // "deepseek" or "gpt_oss"
  bool biases = false;                 // of the routed experts' projections
  std::vector<DenseShape> dense = {};  // the others, of attention
};

const std::vector<RankShapes>& ModelTable();

// The text of shapes (shape.h): what `lines` says of every row of the table.
std::string OfModels(const std::function<std::string(const RankShapes& rank)>& lines);

// Whether LANEWISE_NIGHTLY is set.
bool IsNightly();

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_MODEL_SHAPES_H_
