#ifndef LANEWISE_HIP_RUNTIME_DEVICE_H_
#define LANEWISE_HIP_RUNTIME_DEVICE_H_

// The devices of the HIP runtime that is linked.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lanewise::hip {

class Device {
 public:
  // Number of devices; an error where there is no runtime to ask or no device.
  static absl::StatusOr<int> Count();

  // Device `index`.
  static absl::StatusOr<Device> Open(int index);

  // The first device of that chip ("gfx942").
  static absl::StatusOr<Device> OfArch(std::string_view arch);

  // Makes this the device that the thread's buffers, streams, events and modules are created on.
  absl::Status MakeCurrent() const;

  // Waits for all work on the device.
  absl::Status Synchronize() const;

  int index() const { return index_; }
  const std::string& name() const { return name_; }
  // The chip without its target features: "gfx942"; of NVIDIA's "sm_" and the compute capability's
  // digits: "sm_90".
  const std::string& arch() const { return arch_; }
  // Whether code for the chip `arch` runs here: AMD's for this very chip; NVIDIA's, which is PTX,
  // for this one or an older one.
  bool Runs(std::string_view arch) const;
  int compute_units() const { return compute_units_; }
  int64_t lds_bytes() const { return lds_bytes_; }  // a workgroup's at most
  int64_t memory_bytes() const { return memory_bytes_; }

 private:
  Device() = default;

  int index_ = 0;
  std::string name_;
  std::string arch_;
  int compute_units_ = 0;
  int64_t lds_bytes_ = 0;
  int64_t memory_bytes_ = 0;
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_RUNTIME_DEVICE_H_
