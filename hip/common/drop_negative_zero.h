#ifndef LANEWISE_HIP_COMMON_DROP_NEGATIVE_ZERO_H_
#define LANEWISE_HIP_COMMON_DROP_NEGATIVE_ZERO_H_

// Rewrites each -0 of a tensor to +0 in place on the device and counts them: what gfx942 needs of
// weights, whose -0 would read as FNUZ's NaN there. Bit for bit the byte rule of seed 000's
// dense_copy (0x80 -> 0x00) and fp4_drop_negative_zero_ (nibble 0x8 -> 0x0).

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"
#include "hip/runtime/module.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip {

class DropNegativeZero {
 public:
  enum class Elements {
    kE4m3,  // a byte each; e5m2's -0 is the same byte
    kE2m1,  // two a byte
  };

  struct Problem {
    Elements elements = Elements::kE2m1;
    int64_t bytes = 0;
  };

  struct Operands {
    void* data;         // 16-byte aligned
    uint64_t* changed;  // on the device: grows by the number of elements rewritten; may be null
  };

  // NotFound for a chip that the kernels were not built for. Makes the device current, as it has to
  // be for Launch. The object has to outlive what it queued, and graphs that were captured.
  static absl::StatusOr<DropNegativeZero> Load(const Device& device);

  // The bytes are the weights, read once. What is written depends on them: 16 bytes for each 16
  // with a -0, all of them at most, which is stated.
  static absl::StatusOr<LaunchCost> Cost(const Problem& problem);

  // Asynchronous; allocates nothing. InvalidArgument for a negative size or an alignment that does
  // not fit; nothing is launched then. No bytes are no work.
  absl::Status Launch(const Problem& problem, const Operands& operands, const Stream& stream) const;

 private:
  DropNegativeZero(Module module, Kernel e4m3, Kernel e2m1)
      : module_(std::move(module)), e4m3_(std::move(e4m3)), e2m1_(std::move(e2m1)) {}

  Module module_;
  Kernel e4m3_, e2m1_;
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_DROP_NEGATIVE_ZERO_H_
