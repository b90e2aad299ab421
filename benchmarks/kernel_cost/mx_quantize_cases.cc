#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "benchmarks/kernel_cost/cases.h"
#include "hip/common/mx_quantize.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/stream.h"

namespace lanewise::benchmarks {
namespace {

using hip::Buffer;
using hip::MxQuantize;

absl::Status Run(const hip::Device& device, const MxQuantize::Problem& problem) {
  LANEWISE_ASSIGN_OR_RETURN(MxQuantize quantize, MxQuantize::Load(device));
  const int64_t elements = problem.rows * problem.columns;
  std::mt19937 random(7);
  std::vector<uint16_t> bf16(static_cast<size_t>(elements));
  for (uint16_t& value : bf16) value = static_cast<uint16_t>(0x3F00 + random() % 256);
  LANEWISE_ASSIGN_OR_RETURN(const Buffer x, Buffer::Of(std::span<const uint16_t>(bf16), "x"));
  LANEWISE_ASSIGN_OR_RETURN(const Buffer bytes, Buffer::Allocate(elements, "elements"));
  LANEWISE_ASSIGN_OR_RETURN(const Buffer codes, Buffer::Allocate(elements / 32, "codes"));
  const hip::Stream stream = hip::Stream::Default();
  LANEWISE_RETURN_IF_ERROR(
      quantize.Launch(problem, {x.data(), bytes.data(), codes.data()}, stream));
  return stream.Synchronize();
}

}  // namespace

std::vector<CostCase> MxQuantizeCases() {
  struct Kernel {
    ElementFormat format;
    float maximum;
    const char* name;
  };
  std::vector<CostCase> cases;
  for (const Kernel& kernel : {Kernel{ElementFormat::kE4m3Fnuz, 224, "quantize e4m3fnuz"},
                               Kernel{ElementFormat::kE4m3Fn, 448, "quantize e4m3fn"},
                               Kernel{ElementFormat::kE2m1, 6, "quantize e2m1"}}) {
    for (const int64_t rows : {2, 16}) {
      const MxQuantize::Problem problem = {.format = kernel.format,
                                           .quantizer = {.maximum = kernel.maximum},
                                           .rows = rows,
                                           .columns = rows == 2 ? 576 : 5120};
      CostCase each;
      each.kernel = kernel.name;
      each.shape = absl::StrCat("bf16 ", problem.rows, " x ", problem.columns);
      each.small = rows == 2;
      if (absl::StatusOr<hip::LaunchCost> cost = MxQuantize::Cost(problem); cost.ok()) {
        each.cost = *cost;
      }
      each.run = [problem](const hip::Device& device) { return Run(device, problem); };
      cases.push_back(std::move(each));
    }
  }
  return cases;
}

}  // namespace lanewise::benchmarks
