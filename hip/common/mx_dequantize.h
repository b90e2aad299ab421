#ifndef LANEWISE_HIP_COMMON_MX_DEQUANTIZE_H_
#define LANEWISE_HIP_COMMON_MX_DEQUANTIZE_H_

// Takes MXFP8 and MXFP4 back to numbers on the device: element * 2^(code - 127), exact in float32
// (2^128 and more becomes infinity) or rounded once to bf16, bit for bit as
// reference::DequantizeToFloat and DequantizeToBf16 (float32 NaN payloads apart).

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/device/quantizer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"
#include "hip/runtime/module.h"
#include "hip/runtime/stream.h"
#include "semantics/float_type.h"

namespace lanewise::hip {

class MxDequantize {
 public:
  struct Problem {
    ElementFormat format = ElementFormat::kE4m3Fn;  // kE4m3Fn, kE4m3Fnuz or kE2m1
    FloatType output = FloatType::kBf16;            // or kF32
    int64_t rows = 0;
    int64_t columns = 0;        // a multiple of 32
    int64_t rows_per_code = 1;  // 1, or 32 for square blocks; then rows are a multiple of 32
  };

  struct Operands {
    const void* elements;  // [rows, columns] bytes; of e2m1 [rows, columns / 2], the even column in
                           // the low nibble. 8-byte aligned
    const void* codes;     // [rows / rows_per_code, columns / 32] bytes
    void* out;             // [rows, columns], 16-byte aligned
  };

  // NotFound for a chip that the kernels were not built for. Makes the device current, as it has to
  // be for Launch. The object has to outlive what it queued, and graphs that were captured.
  static absl::StatusOr<MxDequantize> Load(const Device& device);

  // Elements and codes are the weights here, read once each; one launch for up to 2^33 elements.
  static absl::StatusOr<LaunchCost> Cost(const Problem& problem);

  // Asynchronous; allocates nothing. InvalidArgument for a shape or alignment that does not fit;
  // nothing is launched then. No rows or no columns are no work.
  absl::Status Launch(const Problem& problem, const Operands& operands, const Stream& stream) const;

 private:
  MxDequantize(Module module, std::vector<Kernel> kernels)
      : module_(std::move(module)), kernels_(std::move(kernels)) {}

  Module module_;
  std::vector<Kernel> kernels_;  // output by output, format by format
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_MX_DEQUANTIZE_H_
