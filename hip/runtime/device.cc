#include "hip/runtime/device.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "hip/runtime/error.h"
#include "third_party/hip_api.h"

namespace lanewise::hip {
namespace {

// The number of an "sm_90"; -1 of any other text. "sm_90a" is such: its code runs nowhere else.
int SmNumber(std::string_view arch) {
  constexpr std::string_view kPrefix = "sm_";
  int number = -1;
  if (arch.substr(0, kPrefix.size()) != kPrefix ||
      !absl::SimpleAtoi(AbslView(arch.substr(kPrefix.size())), &number)) {
    return -1;
  }
  return number;
}

}  // namespace

absl::StatusOr<int> Device::Count() {
  int count = 0;
  if (absl::Status status = ToStatus(hipGetDeviceCount(&count), "counting devices"); !status.ok()) {
    return status;
  }
  if (count == 0) return absl::UnavailableError("counting devices: there is no device");
  return count;
}

absl::StatusOr<Device> Device::Open(int index) {
  hipDeviceProp_t properties;
  if (absl::Status status = ToStatus(hipGetDeviceProperties(&properties, index),
                                     absl::StrCat("opening device ", index));
      !status.ok()) {
    return status;
  }
  Device device;
  device.index_ = index;
  device.name_ = properties.name;
  device.arch_ = properties.gcnArchName;
  device.arch_ = device.arch_.substr(0, device.arch_.find(':'));
  device.compute_units_ = properties.multiProcessorCount;
  device.lds_bytes_ = static_cast<int64_t>(properties.sharedMemPerBlock);
  device.memory_bytes_ = static_cast<int64_t>(properties.totalGlobalMem);
  return device;
}

absl::StatusOr<Device> Device::OfArch(std::string_view arch) {
  absl::StatusOr<int> count = Count();
  if (!count.ok()) return count.status();
  std::string found;
  for (int i = 0; i < *count; ++i) {
    absl::StatusOr<Device> device = Open(i);
    if (!device.ok()) return device.status();
    if (device->arch() == arch) return device;
    absl::StrAppend(&found, found.empty() ? "" : ", ", device->arch());
  }
  return absl::NotFoundError(absl::StrCat("no ", AbslView(arch), " device; there are: ", found));
}

bool Device::Runs(std::string_view arch) const {
  const int number = SmNumber(arch);
  return arch == arch_ || (number >= 0 && number <= SmNumber(arch_));
}

absl::Status Device::MakeCurrent() const {
  return ToStatus(hipSetDevice(index_), absl::StrCat("choosing device ", index_));
}

absl::Status Device::Synchronize() const {
  if (absl::Status status = MakeCurrent(); !status.ok()) return status;
  return ToStatus(hipDeviceSynchronize(), absl::StrCat("waiting for device ", index_));
}

}  // namespace lanewise::hip
