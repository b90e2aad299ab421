#include "hip/common/mx_quantize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "hip/common/alignment.h"
#include "hip/common/quantize.h"

namespace lanewise::hip {
namespace {

constexpr int64_t kItemsPerGroup = 256;
// Blocks of one launch: the kernel counts work-items in 32 bits.
constexpr int64_t kBlocksPerLaunch = int64_t{1} << 28;
// So that no count of bytes passes 2^63.
constexpr int64_t kMostElements = int64_t{1} << 60;

const char* FormatName(ElementFormat format) {
  switch (format) {
    case ElementFormat::kE4m3Fn:
      return "E4m3Fn";
    case ElementFormat::kE4m3Fnuz:
      return "E4m3Fnuz";
    case ElementFormat::kE2m1:
      return "E2m1";
    case ElementFormat::kE5m2:
      return "E5m2";
    case ElementFormat::kE5m2Fnuz:
      return "E5m2Fnuz";
  }
  return "unknown";
}

// What there are kernels for.
constexpr FloatType kInputs[] = {FloatType::kBf16, FloatType::kF32};
constexpr ElementFormat kFormats[] = {ElementFormat::kE4m3Fn, ElementFormat::kE4m3Fnuz,
                                      ElementFormat::kE2m1};

// The place of a problem's kernel, in the order of the two lists.
size_t KernelIndex(FloatType input, ElementFormat format) {
  const auto* const found = std::find(std::begin(kFormats), std::end(kFormats), format);
  const auto of_format = static_cast<size_t>(found - std::begin(kFormats));
  return (input == FloatType::kBf16 ? 0 : std::size(kFormats)) + of_format;
}

int64_t RowStride(const MxQuantize::Problem& problem) {
  return problem.row_stride == 0 ? problem.columns : problem.row_stride;
}

absl::Status CheckProblem(const MxQuantize::Problem& problem) {
  if (absl::Status status = ValidateQuantizer(problem.quantizer, problem.format); !status.ok()) {
    return status;
  }
  if (std::count(std::begin(kFormats), std::end(kFormats), problem.format) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("quantize: no kernel makes ",
                                                   FormatName(problem.format),
                                                   "; there are E4m3Fn, E4m3Fnuz and E2m1"));
  }
  if (std::count(std::begin(kInputs), std::end(kInputs), problem.input) == 0) {
    return InvalidArgument("quantize: x is ", FloatTypeName(problem.input),
                           ", expected bf16 or f32");
  }
  if (problem.rows < 0 || problem.columns < 0 || problem.columns % kBlockSize != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("quantize: x is [", problem.rows, ", ", problem.columns,
                     "], expected columns in multiples of ", kBlockSize));
  }
  if (problem.columns > 0 && problem.rows > kMostElements / problem.columns) {
    return absl::InvalidArgumentError(absl::StrCat("quantize: x is [", problem.rows, ", ",
                                                   problem.columns, "], more than ", kMostElements,
                                                   " elements"));
  }
  const int64_t per_16_bytes = 16 / FloatBytes(problem.input);
  const int64_t stride = RowStride(problem);
  if (stride < problem.columns || stride % per_16_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat("quantize: rows of x are ", stride,
                                                   " elements apart, expected a multiple of ",
                                                   per_16_bytes, " of at least ", problem.columns));
  }
  return absl::OkStatus();
}

// Rows of one launch.
int64_t RowsPerLaunch(const MxQuantize::Problem& problem) {
  return std::max<int64_t>(1, kBlocksPerLaunch / (problem.columns / kBlockSize));
}

}  // namespace

absl::Status ValidateQuantizer(const Quantizer& quantizer, ElementFormat format) {
  const float largest = LargestFinite(format);
  if (!(quantizer.maximum >= 0x1p-126f && quantizer.maximum <= largest)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "quantizer maximum is ", quantizer.maximum, ", expected a normal number of at most ",
        largest, ", the largest value of ", FormatName(format)));
  }
  if (!(std::isfinite(quantizer.amax_floor) && quantizer.amax_floor >= 0.0f)) {
    return absl::InvalidArgumentError(absl::StrCat("quantizer amax_floor is ", quantizer.amax_floor,
                                                   ", expected a finite number of 0 or more"));
  }
  if (quantizer.smallest_code > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("quantizer smallest_code is ", quantizer.smallest_code, ", expected 0 or 1"));
  }
  if (quantizer.rule > BlockRule::kRoundUp || quantizer.non_finite > NonFinite::kSaturate) {
    return absl::InvalidArgumentError(absl::StrCat(
        "quantizer rule is ", static_cast<uint32_t>(quantizer.rule), " and non_finite ",
        static_cast<uint32_t>(quantizer.non_finite), ", which name nothing"));
  }
  return absl::OkStatus();
}

absl::StatusOr<MxQuantize> MxQuantize::Load(const Device& device) {
  absl::StatusOr<Module> module = Module::Load(QuantizeCodeObjects(), device);
  if (!module.ok()) return module.status();
  std::vector<Kernel> kernels;
  for (const FloatType input : kInputs) {
    for (const ElementFormat format : kFormats) {
      absl::StatusOr<Kernel> kernel = module->Find(absl::StrCat(
          "Quantize", input == FloatType::kBf16 ? "Bf16" : "F32", "To", FormatName(format)));
      if (!kernel.ok()) return kernel.status();
      kernels.push_back(*std::move(kernel));
    }
  }
  return MxQuantize(*std::move(module), std::move(kernels));
}

absl::StatusOr<LaunchCost> MxQuantize::Cost(const Problem& problem) {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  LaunchCost cost;
  if (problem.rows == 0 || problem.columns == 0) return cost;
  const int64_t elements = problem.rows * problem.columns;
  const int64_t per_byte = problem.format == ElementFormat::kE2m1 ? 2 : 1;
  cost.activation_bytes = elements * FloatBytes(problem.input);
  cost.output_bytes = elements / per_byte + elements / kBlockSize;
  const int64_t rows = RowsPerLaunch(problem);
  cost.launches = (problem.rows + rows - 1) / rows;
  return cost;
}

absl::Status MxQuantize::Launch(const Problem& problem, const Operands& operands,
                                const Stream& stream) const {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  if (problem.rows == 0 || problem.columns == 0) return absl::OkStatus();
  if (absl::Status status = CheckAligned("quantize: x", operands.x, 16); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckAligned("quantize: elements", operands.elements, 8);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckAligned("quantize: codes", operands.codes, 1); !status.ok()) {
    return status;
  }
  const Kernel& kernel = kernels_[KernelIndex(problem.input, problem.format)];
  const int64_t blocks_per_row = problem.columns / kBlockSize;
  const int64_t stride_bytes = RowStride(problem) * FloatBytes(problem.input);
  const int64_t bytes_per_row =
      problem.format == ElementFormat::kE2m1 ? problem.columns / 2 : problem.columns;
  const int64_t lanes_per_block = kBlockSize * FloatBytes(problem.input) / 16;
  const int64_t rows_per_launch = RowsPerLaunch(problem);
  for (int64_t row = 0; row < problem.rows; row += rows_per_launch) {
    const int64_t rows = std::min(rows_per_launch, problem.rows - row);
    const int64_t blocks = rows * blocks_per_row;
    const auto groups =
        static_cast<uint32_t>((blocks * lanes_per_block + kItemsPerGroup - 1) / kItemsPerGroup);
    absl::Status status =
        kernel.Launch({.grid = {groups}, .block = {kItemsPerGroup}}, stream,
                      static_cast<const uint8_t*>(operands.x) + row * stride_bytes,
                      static_cast<uint8_t*>(operands.elements) + row * bytes_per_row,
                      static_cast<uint8_t*>(operands.codes) + row * blocks_per_row,
                      static_cast<uint32_t>(blocks), static_cast<uint32_t>(blocks_per_row),
                      static_cast<uint64_t>(stride_bytes), problem.quantizer);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lanewise::hip
