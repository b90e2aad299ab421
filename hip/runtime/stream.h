#ifndef LANEWISE_HIP_RUNTIME_STREAM_H_
#define LANEWISE_HIP_RUNTIME_STREAM_H_

// Streams and events of the current device.

#include <utility>

#include "absl/status/statusor.h"
#include "third_party/hip_api.h"

namespace lanewise::hip {

class Stream {
 public:
  // A stream that does not wait for the default stream.
  static absl::StatusOr<Stream> Create();
  // The device's default stream, which nobody owns.
  static Stream Default() { return Stream(nullptr, /*owned=*/false); }
  // Somebody else's stream: an engine's, for instance. Stays theirs.
  static Stream Borrow(hipStream_t stream) { return Stream(stream, /*owned=*/false); }

  Stream(Stream&& other) noexcept
      : stream_(other.stream_), owned_(std::exchange(other.owned_, false)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~Stream();

  // Waits for all work on the stream; returns the first error of it.
  absl::Status Synchronize() const;

  hipStream_t handle() const { return stream_; }

 private:
  Stream(hipStream_t stream, bool owned) : stream_(stream), owned_(owned) {}

  hipStream_t stream_ = nullptr;
  bool owned_ = false;
};

class Event {
 public:
  static absl::StatusOr<Event> Create();

  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  // Marks this point of the stream's work.
  absl::Status Record(const Stream& stream) const;
  absl::Status Synchronize() const;
  // From this event to `end`; both are recorded and reached.
  absl::StatusOr<float> MillisecondsUntil(const Event& end) const;

 private:
  explicit Event(hipEvent_t event) : event_(event) {}

  hipEvent_t event_ = nullptr;
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_RUNTIME_STREAM_H_
