#ifndef LANEWISE_HIP_COMMON_MX_QUANTIZE_H_
#define LANEWISE_HIP_COMMON_MX_QUANTIZE_H_

// Quantizes rows on the device: x [rows, columns] of bf16 or float32 to elements of e4m3 (OCP or
// FNUZ) or e2m1 and one E8M0 code for 32 of a row, by any quantizer, bit for bit as
// reference::Quantize. Each chip makes each format, the foreign ones by ordinary arithmetic.
//
//   absl::StatusOr<MxQuantize> quantize = MxQuantize::Load(device);
//   absl::Status status = quantize->Launch(
//       {.format = ElementFormat::kE4m3Fnuz, .quantizer = {.maximum = 224.0f}, .rows = m,
//        .columns = k},
//       {.x = x, .elements = bytes, .codes = codes}, stream);

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

// OK, or InvalidArgument naming the field, its value and what it may be.
absl::Status ValidateQuantizer(const Quantizer& quantizer, ElementFormat format);

class MxQuantize {
 public:
  struct Problem {
    FloatType input = FloatType::kBf16;             // or kF32
    ElementFormat format = ElementFormat::kE4m3Fn;  // kE4m3Fn, kE4m3Fnuz or kE2m1
    Quantizer quantizer = {};
    int64_t rows = 0;
    int64_t columns = 0;     // a multiple of 32
    int64_t row_stride = 0;  // elements of x from row to row; 0: columns. The row begins of 16
  };  // bytes: a multiple of 8 bf16 or 4 floats

  struct Operands {
    const void* x;   // [rows, columns] with the stride, 16-byte aligned
    void* elements;  // [rows, columns] bytes; of e2m1 [rows, columns / 2], the even column in the
                     // low nibble. 8-byte aligned
    void* codes;     // [rows, columns / 32] bytes
  };

  // NotFound for a chip that the kernels were not built for. Makes the device current, as it has to
  // be for Launch. The object has to outlive what it queued, and graphs that were captured.
  static absl::StatusOr<MxQuantize> Load(const Device& device);

  // x is read once, elements and codes are written once; one launch for up to 2^33 elements.
  // InvalidArgument as Launch.
  static absl::StatusOr<LaunchCost> Cost(const Problem& problem);

  // Asynchronous; allocates nothing. InvalidArgument for a shape, quantizer or alignment that does
  // not fit; nothing is launched then. No rows or no columns are no work.
  absl::Status Launch(const Problem& problem, const Operands& operands, const Stream& stream) const;

 private:
  MxQuantize(Module module, std::vector<Kernel> kernels)
      : module_(std::move(module)), kernels_(std::move(kernels)) {}

  Module module_;
  std::vector<Kernel> kernels_;  // input by input, format by format
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_MX_QUANTIZE_H_
