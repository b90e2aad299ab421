#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "benchmarks/kernel_cost/cases.h"
#include "hip/gfx942/dense_gemv.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/stream.h"

namespace lanewise::benchmarks {
namespace {

using hip::Buffer;
using hip::gfx942::DenseGemv;

absl::Status Run(const hip::Device& device, const DenseGemv::Problem& problem,
                 const hip::LaunchCost& cost) {
  LANEWISE_ASSIGN_OR_RETURN(DenseGemv gemv, DenseGemv::Load(device));
  const int64_t padded_k = (problem.k + 127) / 128 * 128;
  std::mt19937 random(7);
  std::vector<uint16_t> bf16(static_cast<size_t>(problem.m * problem.groups * problem.k));
  for (uint16_t& value : bf16) value = static_cast<uint16_t>(0x3F00 + random() % 256);
  std::vector<uint8_t> bytes(static_cast<size_t>(problem.n * padded_k));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 127);
  const std::vector<uint8_t> codes(static_cast<size_t>((problem.n + 31) / 32 * padded_k / 32), 121);
  LANEWISE_ASSIGN_OR_RETURN(const Buffer x, Buffer::Of(std::span<const uint16_t>(bf16), "x"));
  LANEWISE_ASSIGN_OR_RETURN(const Buffer w, Buffer::Of(std::span<const uint8_t>(bytes), "weights"));
  LANEWISE_ASSIGN_OR_RETURN(const Buffer w_codes,
                            Buffer::Of(std::span<const uint8_t>(codes), "weight codes"));
  LANEWISE_ASSIGN_OR_RETURN(const Buffer out, Buffer::Allocate(cost.output_bytes, "out"));
  LANEWISE_ASSIGN_OR_RETURN(const Buffer workspace,
                            Buffer::Allocate(cost.workspace_bytes, "workspace"));
  const hip::Stream stream = hip::Stream::Default();
  LANEWISE_RETURN_IF_ERROR(gemv.Launch(
      problem, {x.data(), w.data(), w_codes.data(), out.data(), workspace.data()}, stream));
  return stream.Synchronize();
}

}  // namespace

std::vector<CostCase> DenseGemvCases() {
  struct Shape {
    const char* what;
    DenseGemv::Problem problem;
    bool small = false;
  };
  using Plan = DenseGemv::Plan;
  std::vector<CostCase> cases;
  for (const Shape& shape : {
           Shape{"padded", {.m = 3, .n = 96, .k = 576}, true},
           Shape{"2 groups",
                 {.m = 16, .n = 128, .k = 1024, .groups = 2, .plan = Plan::kGrouped},
                 true},
           Shape{"2 splits", {.m = 1, .n = 32, .k = 1280, .plan = Plan::kSplit}, true},
           Shape{"wq_b", {.m = 1, .n = 8192, .k = 1280}},
           Shape{"wq_b", {.m = 16, .n = 8192, .k = 1280}},
           Shape{"wqkv, 2 splits", {.m = 1, .n = 1792, .k = 5120, .plan = Plan::kSplit}},
           Shape{"wqkv, 2 splits", {.m = 16, .n = 1792, .k = 5120, .plan = Plan::kSplit}},
           Shape{"wo_a, 2 groups",
                 {.m = 1, .n = 2048, .k = 4096, .groups = 2, .plan = Plan::kGrouped}},
           Shape{"shared down, padded", {.m = 1, .n = 5120, .k = 576}},
       }) {
    const absl::StatusOr<hip::LaunchCost> cost = DenseGemv::Cost(shape.problem);
    CostCase each;
    each.kernel = "gfx942/dense_gemv";
    each.shape = absl::StrCat("M ", shape.problem.m, ", ", shape.problem.n, " x ", shape.problem.k,
                              ", ", shape.what);
    each.small = shape.small;
    if (cost.ok()) each.cost = *cost;
    // Each tile of 16 rows loads the codes, which are of 32.
    const int64_t steps = (shape.problem.k + 127) / 128;
    each.fetched_weight_bytes = shape.problem.n * 128 * steps + shape.problem.n / 16 * 4 * steps;
    each.run = [problem = shape.problem, cost = each.cost](const hip::Device& device) {
      return Run(device, problem, cost);
    };
    cases.push_back(std::move(each));
  }
  return cases;
}

}  // namespace lanewise::benchmarks
