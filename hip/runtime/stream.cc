#include "hip/runtime/stream.h"

#include "hip/runtime/error.h"

namespace lanewise::hip {

absl::StatusOr<Stream> Stream::Create() {
  hipStream_t stream = nullptr;
  if (absl::Status status =
          ToStatus(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "creating a stream");
      !status.ok()) {
    return status;
  }
  return Stream(stream, /*owned=*/true);
}

Stream::~Stream() {
  if (owned_) (void)hipStreamDestroy(stream_);
}

absl::Status Stream::Synchronize() const {
  return ToStatus(hipStreamSynchronize(stream_), "waiting for a stream");
}

absl::StatusOr<Event> Event::Create() {
  hipEvent_t event = nullptr;
  if (absl::Status status = ToStatus(hipEventCreate(&event), "creating an event"); !status.ok()) {
    return status;
  }
  return Event(event);
}

Event::~Event() {
  if (event_ != nullptr) (void)hipEventDestroy(event_);
}

absl::Status Event::Record(const Stream& stream) const {
  return ToStatus(hipEventRecord(event_, stream.handle()), "recording an event");
}

absl::Status Event::Synchronize() const {
  return ToStatus(hipEventSynchronize(event_), "waiting for an event");
}

absl::StatusOr<float> Event::MillisecondsUntil(const Event& end) const {
  float milliseconds = 0;
  if (absl::Status status = ToStatus(hipEventElapsedTime(&milliseconds, event_, end.event_),
                                     "measuring between events");
      !status.ok()) {
    return status;
  }
  return milliseconds;
}

}  // namespace lanewise::hip
