#include "hip/common/mx_dequantize.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "hip/common/alignment.h"
#include "hip/common/dequantize.h"

namespace lanewise::hip {
namespace {

constexpr int64_t kItemsPerGroup = 256;
// Blocks of one launch: the kernel counts work-items in 32 bits.
constexpr int64_t kBlocksPerLaunch = int64_t{1} << 28;
// So that no count of bytes passes 2^63.
constexpr int64_t kMostElements = int64_t{1} << 60;

struct Format {
  ElementFormat format;
  const char* name;
};
constexpr Format kFormats[] = {{ElementFormat::kE4m3Fn, "E4m3Fn"},
                               {ElementFormat::kE4m3Fnuz, "E4m3Fnuz"},
                               {ElementFormat::kE2m1, "E2m1"}};

size_t FormatIndex(ElementFormat format) {
  size_t i = 0;
  while (i < std::size(kFormats) && kFormats[i].format != format) ++i;
  return i;
}

absl::Status CheckProblem(const MxDequantize::Problem& problem) {
  if (FormatIndex(problem.format) == std::size(kFormats)) {
    return absl::InvalidArgumentError("dequantize: there are kernels for e4m3fn, e4m3fnuz, e2m1");
  }
  if (problem.output != FloatType::kBf16 && problem.output != FloatType::kF32) {
    return InvalidArgument("dequantize: out is ", FloatTypeName(problem.output),
                           ", expected bf16 or f32");
  }
  if (problem.rows < 0 || problem.columns < 0 || problem.columns % kBlockSize != 0 ||
      (problem.columns > 0 && problem.rows > kMostElements / problem.columns)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dequantize: elements are [", problem.rows, ", ", problem.columns,
                     "], expected columns in multiples of ", kBlockSize, " and at most ",
                     kMostElements, " elements"));
  }
  if (problem.rows_per_code != 1 && problem.rows_per_code != kBlockSize) {
    return absl::InvalidArgumentError(absl::StrCat("dequantize: ", problem.rows_per_code,
                                                   " rows a code, expected 1 or ", kBlockSize));
  }
  if (problem.rows % problem.rows_per_code != 0) {
    return absl::InvalidArgumentError(absl::StrCat("dequantize: ", problem.rows,
                                                   " rows are not a multiple of ",
                                                   problem.rows_per_code, ", a code's"));
  }
  return absl::OkStatus();
}

// Rows of one launch, whole codes.
int64_t RowsPerLaunch(const MxDequantize::Problem& problem) {
  const int64_t rows = kBlocksPerLaunch / (problem.columns / kBlockSize);
  return std::max(problem.rows_per_code, rows / problem.rows_per_code * problem.rows_per_code);
}

}  // namespace

absl::StatusOr<MxDequantize> MxDequantize::Load(const Device& device) {
  absl::StatusOr<Module> module = Module::Load(DequantizeCodeObjects(), device);
  if (!module.ok()) return module.status();
  std::vector<Kernel> kernels;
  for (const char* output : {"Bf16", "F32"}) {
    for (const Format& format : kFormats) {
      absl::StatusOr<Kernel> kernel =
          module->Find(absl::StrCat("Dequantize", format.name, "To", output));
      if (!kernel.ok()) return kernel.status();
      kernels.push_back(*std::move(kernel));
    }
  }
  return MxDequantize(*std::move(module), std::move(kernels));
}

absl::StatusOr<LaunchCost> MxDequantize::Cost(const Problem& problem) {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  LaunchCost cost;
  if (problem.rows == 0 || problem.columns == 0) return cost;
  const int64_t elements = problem.rows * problem.columns;
  const int64_t per_byte = problem.format == ElementFormat::kE2m1 ? 2 : 1;
  cost.weight_bytes = elements / per_byte + elements / kBlockSize / problem.rows_per_code;
  cost.output_bytes = elements * FloatBytes(problem.output);
  const int64_t rows = RowsPerLaunch(problem);
  cost.launches = (problem.rows + rows - 1) / rows;
  return cost;
}

absl::Status MxDequantize::Launch(const Problem& problem, const Operands& operands,
                                  const Stream& stream) const {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  if (problem.rows == 0 || problem.columns == 0) return absl::OkStatus();
  absl::Status status = CheckAligned("dequantize: elements", operands.elements, 8);
  if (!status.ok()) return status;
  status = CheckAligned("dequantize: codes", operands.codes, 1);
  if (!status.ok()) return status;
  status = CheckAligned("dequantize: out", operands.out, 16);
  if (!status.ok()) return status;

  const size_t output = problem.output == FloatType::kBf16 ? 0 : 1;
  const Kernel& kernel = kernels_[output * std::size(kFormats) + FormatIndex(problem.format)];
  const int64_t blocks_per_row = problem.columns / kBlockSize;
  const int64_t element_row_bytes =
      problem.format == ElementFormat::kE2m1 ? problem.columns / 2 : problem.columns;
  const int64_t out_row_bytes = problem.columns * FloatBytes(problem.output);
  const int64_t items_per_block = kBlockSize * FloatBytes(problem.output) / 16;
  const int64_t rows_per_launch = RowsPerLaunch(problem);
  for (int64_t row = 0; row < problem.rows; row += rows_per_launch) {
    const int64_t blocks = std::min(rows_per_launch, problem.rows - row) * blocks_per_row;
    const auto groups =
        static_cast<uint32_t>((blocks * items_per_block + kItemsPerGroup - 1) / kItemsPerGroup);
    status = kernel.Launch(
        {.grid = {groups}, .block = {kItemsPerGroup}}, stream,
        static_cast<const uint8_t*>(operands.elements) + row * element_row_bytes,
        static_cast<const uint8_t*>(operands.codes) + row / problem.rows_per_code * blocks_per_row,
        static_cast<uint8_t*>(operands.out) + row * out_row_bytes, static_cast<uint32_t>(blocks),
        static_cast<uint32_t>(blocks_per_row), static_cast<uint32_t>(problem.rows_per_code));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lanewise::hip
