#include "benchmarks/kernel_cost/cases.h"

#include <utility>

namespace lanewise::benchmarks {
namespace {

using Cases = std::vector<CostCase> (*)();
constexpr Cases kKernels[] = {
    Fp4OrderCases, DenseGemvCases, MoeCases, MxQuantizeCases, CommonCases,
};

}  // namespace

std::vector<CostCase> AllCases() {
  std::vector<CostCase> all;
  for (const Cases cases : kKernels) {
    for (CostCase& each : cases()) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace lanewise::benchmarks
