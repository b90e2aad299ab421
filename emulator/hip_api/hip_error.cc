// The HIP runtime's errors.

#include <utility>

#include "emulator/hip_api/runtime_state.h"

namespace lanewise::emulator {
namespace {

struct ErrorText {
  hipError_t error;
  const char* name;
  const char* text;
};

#define LANEWISE_ERROR(error, text) {error, #error, text}
constexpr ErrorText kErrors[] = {
    LANEWISE_ERROR(hipSuccess, "no error"),
    LANEWISE_ERROR(hipErrorInvalidValue, "invalid argument"),
    LANEWISE_ERROR(hipErrorOutOfMemory, "out of memory"),
    LANEWISE_ERROR(hipErrorNotInitialized, "initialization error"),
    LANEWISE_ERROR(hipErrorInvalidConfiguration, "invalid configuration argument"),
    LANEWISE_ERROR(hipErrorInvalidPitchValue, "invalid pitch argument"),
    LANEWISE_ERROR(hipErrorInvalidSymbol, "invalid device symbol"),
    LANEWISE_ERROR(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    LANEWISE_ERROR(hipErrorInvalidDeviceFunction, "invalid device function"),
    LANEWISE_ERROR(hipErrorNoDevice, "no ROCm-capable device is detected"),
    LANEWISE_ERROR(hipErrorInvalidDevice, "invalid device ordinal"),
    LANEWISE_ERROR(hipErrorInvalidImage, "device kernel image is invalid"),
    LANEWISE_ERROR(hipErrorInvalidContext, "invalid device context"),
    LANEWISE_ERROR(hipErrorNoBinaryForGpu,
                   "no kernel image is available for execution on the device"),
    LANEWISE_ERROR(hipErrorFileNotFound, "file not found"),
    LANEWISE_ERROR(hipErrorInvalidHandle, "invalid resource handle"),
    LANEWISE_ERROR(hipErrorNotFound, "named symbol not found"),
    LANEWISE_ERROR(hipErrorNotReady, "device not ready"),
    LANEWISE_ERROR(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    LANEWISE_ERROR(hipErrorHostMemoryAlreadyRegistered, "host memory is already registered"),
    LANEWISE_ERROR(hipErrorHostMemoryNotRegistered, "host memory is not registered"),
    LANEWISE_ERROR(hipErrorLaunchFailure, "unspecified launch failure"),
    LANEWISE_ERROR(hipErrorNotSupported, "operation not supported"),
    LANEWISE_ERROR(hipErrorUnknown, "unknown error"),
};
#undef LANEWISE_ERROR

const ErrorText* FindText(hipError_t error) {
  for (const ErrorText& each : kErrors) {
    if (each.error == error) return &each;
  }
  return nullptr;
}

}  // namespace
}  // namespace lanewise::emulator

using namespace lanewise::emulator;  // NOLINT: the functions below are C, outside of any namespace

extern "C" {

hipError_t hipGetLastError(void) { return std::exchange(LastError(), hipSuccess); }
hipError_t hipPeekAtLastError(void) { return LastError(); }

const char* hipGetErrorName(hipError_t error) {
  const ErrorText* found = FindText(error);
  return found == nullptr ? "hipErrorUnknown" : found->name;
}
const char* hipGetErrorString(hipError_t error) {
  const ErrorText* found = FindText(error);
  return found == nullptr ? "unknown error" : found->text;
}

}  // extern "C"
