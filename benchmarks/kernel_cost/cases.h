#ifndef LANEWISE_BENCHMARKS_KERNEL_COST_CASES_H_
#define LANEWISE_BENCHMARKS_KERNEL_COST_CASES_H_

// The table of kernels whose cost is measured. To add one: a function here that gives its rows, in
// a file of its own, and a line in cases.cc. Test, tool and documentation take it from there.

#include <vector>

#include "benchmarks/kernel_cost/kernel_cost.h"

namespace lanewise::benchmarks {

// hip/common: layouts, dequantizing, -0, permute_q_to_fused.
std::vector<CostCase> CommonCases();
std::vector<CostCase> MxQuantizeCases();
// hip/gfx942: the dense GEMV with its quantizer and the sum of splits.
std::vector<CostCase> DenseGemvCases();
// The routed experts: up/gate with its quantizer, and followed by down with the sum.
std::vector<CostCase> MoeCases();
// Loads of MXFP4 weights in tile-major and in lane-major order, next to each other.
std::vector<CostCase> Fp4OrderCases();

// The rows of all kernels.
std::vector<CostCase> AllCases();

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_KERNEL_COST_CASES_H_
