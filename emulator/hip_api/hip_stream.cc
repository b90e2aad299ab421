// The HIP runtime's streams and events. Every operation is complete when its call returns, so a
// stream is never busy, and an event's time is that of the call that recorded it.

#include <chrono>
#include <optional>

#include "emulator/hip_api/runtime_state.h"

namespace lanewise::emulator {
namespace {

using Clock = std::chrono::steady_clock;

struct Stream {
  unsigned int flags = 0;
  int priority = 0;
};

struct Event {
  std::optional<Clock::time_point> recorded;
  bool timed = true;
};

Event* ToEvent(hipEvent_t event) { return reinterpret_cast<Event*>(event); }
Stream* ToStream(hipStream_t stream) { return reinterpret_cast<Stream*>(stream); }

hipError_t Create(const char* function, hipStream_t* stream, unsigned int flags, int priority) {
  if (stream == nullptr) return Fail(hipErrorInvalidValue, function, "no place for the stream");
  *stream = reinterpret_cast<hipStream_t>(new Stream{flags, priority});
  return hipSuccess;
}

hipError_t CreateEvent(const char* function, hipEvent_t* event, unsigned flags) {
  if (event == nullptr) return Fail(hipErrorInvalidValue, function, "no place for the event");
  auto* created = new Event();
  created->timed = (flags & hipEventDisableTiming) == 0;
  *event = reinterpret_cast<hipEvent_t>(created);
  return hipSuccess;
}

}  // namespace
}  // namespace lanewise::emulator

using namespace lanewise::emulator;  // NOLINT: the functions below are C, outside of any namespace

extern "C" {

hipError_t hipStreamCreate(hipStream_t* stream) { return Create("hipStreamCreate", stream, 0, 0); }
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return Create("hipStreamCreateWithFlags", stream, flags, 0);
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags, int priority) {
  return Create("hipStreamCreateWithPriority", stream, flags, priority);
}
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return hipSuccess;
}
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int* flags) {
  if (flags == nullptr) return Fail(hipErrorInvalidValue, "hipStreamGetFlags", "a null pointer");
  *flags = stream == nullptr ? 0 : ToStream(stream)->flags;
  return hipSuccess;
}
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  if (priority == nullptr) {
    return Fail(hipErrorInvalidValue, "hipStreamGetPriority", "a null pointer");
  }
  *priority = stream == nullptr ? 0 : ToStream(stream)->priority;
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  if (stream == nullptr) {
    return Fail(hipErrorInvalidResourceHandle, "hipStreamDestroy", "the null stream");
  }
  delete ToStream(stream);
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
hipError_t hipStreamQuery(hipStream_t) { return hipSuccess; }

hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t event, unsigned int) {
  return event != nullptr ? hipSuccess
                          : Fail(hipErrorInvalidHandle, "hipStreamWaitEvent", "no event");
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data,
                                unsigned int) {
  if (callback == nullptr) {
    return Fail(hipErrorInvalidValue, "hipStreamAddCallback", "no callback");
  }
  callback(stream, hipSuccess, data);
  return hipSuccess;
}

hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t function, void* data) {
  if (function == nullptr) return Fail(hipErrorInvalidValue, "hipLaunchHostFunc", "no function");
  function(data);
  return hipSuccess;
}

// A program may ask whether it is being captured; it never is.
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus* status) {
  if (status == nullptr) {
    return Fail(hipErrorInvalidValue, "hipStreamIsCapturing", "a null pointer");
  }
  *status = hipStreamCaptureStatusNone;
  return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t* event) { return CreateEvent("hipEventCreate", event, 0); }
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return CreateEvent("hipEventCreateWithFlags", event, flags);
}
hipError_t hipEventDestroy(hipEvent_t event) {
  if (event == nullptr) return Fail(hipErrorInvalidHandle, "hipEventDestroy", "no event");
  delete ToEvent(event);
  return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t) {
  if (event == nullptr) return Fail(hipErrorInvalidHandle, "hipEventRecord", "no event");
  ToEvent(event)->recorded = Clock::now();
  return hipSuccess;
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return event != nullptr ? hipSuccess
                          : Fail(hipErrorInvalidHandle, "hipEventSynchronize", "no event");
}
hipError_t hipEventQuery(hipEvent_t event) {
  return event != nullptr ? hipSuccess : Fail(hipErrorInvalidHandle, "hipEventQuery", "no event");
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  if (milliseconds == nullptr || start == nullptr || stop == nullptr) {
    return Fail(hipErrorInvalidValue, "hipEventElapsedTime", "a null pointer");
  }
  const Event& from = *ToEvent(start);
  const Event& to = *ToEvent(stop);
  if (!from.timed || !to.timed || !from.recorded || !to.recorded) {
    return Fail(hipErrorInvalidHandle, "hipEventElapsedTime",
                "an event that was not recorded, or created without timing");
  }
  *milliseconds = std::chrono::duration<float, std::milli>(*to.recorded - *from.recorded).count();
  return hipSuccess;
}

}  // extern "C"
