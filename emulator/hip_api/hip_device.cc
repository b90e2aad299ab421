// The HIP runtime's devices.

#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "emulator/hip_api/runtime_state.h"

namespace lanewise::emulator {
namespace {

// What tells the two chips apart, from AMD's data sheets of MI300X and MI355X.
struct Chip {
  const char* name;
  const char* arch;
  int compute_units;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int l2_bytes;
  int minor;
};
constexpr Chip kChips[kDevices] = {
    {"AMD Instinct MI300X (emulated)", "gfx942:sramecc+:xnack-", 304, 2100000, 1300000, 8192,
     4 << 20, 4},
    {"AMD Instinct MI355X (emulated)", "gfx950:sramecc+:xnack-", 256, 2400000, 2000000, 8192,
     4 << 20, 5},
};
constexpr int kMajor = 9;
constexpr int kWavesPerSimd = 8;
constexpr int kSimds = 4;
constexpr int kWaveSize = 64;

bool IsDevice(int device) { return device >= 0 && device < kDevices; }

hipError_t NoDevice(const char* function, int device) {
  return Fail(hipErrorInvalidDevice, function,
              absl::StrCat("no device ", device, "; 0 is a gfx942, 1 a gfx950"));
}

size_t TotalMemory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

template <size_t kSize>
void CopyText(const char* text, char (&to)[kSize]) {
  std::strncpy(to, text, kSize - 1);
  to[kSize - 1] = '\0';
}

}  // namespace
}  // namespace lanewise::emulator

using namespace lanewise::emulator;  // NOLINT: the functions below are C, outside of any namespace

extern "C" {

hipError_t hipInit(unsigned int flags) {
  return flags == 0 ? hipSuccess : Fail(hipErrorInvalidValue, "hipInit", "flags must be 0");
}

hipError_t hipDriverGetVersion(int* version) {
  if (version == nullptr)
    return Fail(hipErrorInvalidValue, "hipDriverGetVersion", "a null pointer");
  *version = HIP_VERSION;
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) {
  if (version == nullptr)
    return Fail(hipErrorInvalidValue, "hipRuntimeGetVersion", "a null pointer");
  *version = HIP_VERSION;
  return hipSuccess;
}

hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return Fail(hipErrorInvalidValue, "hipGetDeviceCount", "a null pointer");
  *count = kDevices;
  return hipSuccess;
}

hipError_t hipGetDevice(int* device) {
  if (device == nullptr) return Fail(hipErrorInvalidValue, "hipGetDevice", "a null pointer");
  *device = CurrentDevice();
  return hipSuccess;
}

hipError_t hipSetDevice(int device) {
  if (!IsDevice(device)) return NoDevice("hipSetDevice", device);
  CurrentDevice() = device;
  return hipSuccess;
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  if (device == nullptr || !IsDevice(ordinal)) return NoDevice("hipDeviceGet", ordinal);
  *device = ordinal;
  return hipSuccess;
}

hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device) {
  if (!IsDevice(device)) return NoDevice("hipDeviceGetName", device);
  if (name == nullptr || size <= 0) {
    return Fail(hipErrorInvalidValue, "hipDeviceGetName", "no room for the name");
  }
  std::strncpy(name, kChips[device].name, static_cast<size_t>(size) - 1);
  name[size - 1] = '\0';
  return hipSuccess;
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  if (bytes == nullptr || !IsDevice(device)) return NoDevice("hipDeviceTotalMem", device);
  *bytes = TotalMemory();
  return hipSuccess;
}

hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  if (!IsDevice(device)) return NoDevice("hipDeviceComputeCapability", device);
  if (major != nullptr) *major = kMajor;
  if (minor != nullptr) *minor = kChips[device].minor;
  return hipSuccess;
}

hipError_t hipDeviceSynchronize(void) { return hipSuccess; }
hipError_t hipDeviceReset(void) { return hipSuccess; }

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr || !IsDevice(device)) return NoDevice("hipDeviceCanAccessPeer", device);
  if (!IsDevice(peer)) return NoDevice("hipDeviceCanAccessPeer", peer);
  *can = 0;
  return hipSuccess;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (properties == nullptr || !IsDevice(device)) {
    return NoDevice("hipGetDeviceProperties", device);
  }
  const Chip& chip = kChips[device];
  const size_t lds = TraitsOf(DeviceArch(device)).lds_bytes;
  hipDeviceProp_t& p = *properties;
  std::memset(&p, 0, sizeof(p));
  CopyText(chip.name, p.name);
  CopyText(chip.arch, p.gcnArchName);
  p.totalGlobalMem = TotalMemory();
  p.sharedMemPerBlock = lds;
  p.maxSharedMemoryPerMultiProcessor = lds;
  p.regsPerBlock = 512 * kWaveSize * kSimds;
  p.warpSize = kWaveSize;
  p.maxThreadsPerBlock = 1024;
  for (int& size : p.maxThreadsDim) size = 1024;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.clockRate = chip.clock_khz;
  p.memoryClockRate = chip.memory_clock_khz;
  p.memoryBusWidth = chip.memory_bus_bits;
  p.totalConstMem = TotalMemory();
  p.major = kMajor;
  p.minor = chip.minor;
  p.multiProcessorCount = chip.compute_units;
  p.l2CacheSize = chip.l2_bytes;
  p.maxThreadsPerMultiProcessor = kWavesPerSimd * kSimds * kWaveSize;
  p.concurrentKernels = 1;
  p.canMapHostMemory = 1;
  p.managedMemory = 1;
  p.arch.hasGlobalInt32Atomics = 1;
  p.arch.hasGlobalFloatAtomicExch = 1;
  p.arch.hasSharedInt32Atomics = 1;
  p.arch.hasSharedFloatAtomicExch = 1;
  p.arch.hasFloatAtomicAdd = 1;
  p.arch.hasGlobalInt64Atomics = 1;
  p.arch.hasSharedInt64Atomics = 1;
  p.arch.hasDoubles = 1;
  p.arch.hasWarpVote = 1;
  p.arch.hasWarpBallot = 1;
  p.arch.hasWarpShuffle = 1;
  p.arch.has3dGrid = 1;
  return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  if (value == nullptr || !IsDevice(device)) return NoDevice("hipDeviceGetAttribute", device);
  const Chip& chip = kChips[device];
  const int lds = static_cast<int>(TraitsOf(DeviceArch(device)).lds_bytes);
  switch (attribute) {
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
      *value = 1024;
      return hipSuccess;
    case hipDeviceAttributeMaxGridDimX:
      *value = 2147483647;
      return hipSuccess;
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
      *value = 65535;
      return hipSuccess;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      *value = lds;
      return hipSuccess;
    case hipDeviceAttributeWarpSize:
      *value = kWaveSize;
      return hipSuccess;
    case hipDeviceAttributeClockRate:
      *value = chip.clock_khz;
      return hipSuccess;
    case hipDeviceAttributeMemoryClockRate:
      *value = chip.memory_clock_khz;
      return hipSuccess;
    case hipDeviceAttributeMemoryBusWidth:
      *value = chip.memory_bus_bits;
      return hipSuccess;
    case hipDeviceAttributeMultiprocessorCount:
      *value = chip.compute_units;
      return hipSuccess;
    case hipDeviceAttributeL2CacheSize:
      *value = chip.l2_bytes;
      return hipSuccess;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      *value = kWavesPerSimd * kSimds * kWaveSize;
      return hipSuccess;
    case hipDeviceAttributeComputeCapabilityMajor:
      *value = kMajor;
      return hipSuccess;
    case hipDeviceAttributeComputeCapabilityMinor:
      *value = chip.minor;
      return hipSuccess;
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeCanMapHostMemory:
      *value = 1;
      return hipSuccess;
    case hipDeviceAttributeIntegrated:
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributePciBusId:
    case hipDeviceAttributePciDeviceId:
      *value = 0;
      return hipSuccess;
    default:
      return Fail(hipErrorNotSupported, "hipDeviceGetAttribute",
                  absl::StrCat("attribute ", static_cast<int>(attribute), " is not modelled"));
  }
}

}  // extern "C"
