#ifndef LANEWISE_HIP_RUNTIME_GRAPH_H_
#define LANEWISE_HIP_RUNTIME_GRAPH_H_

// Work that is recorded once and launched as a whole again and again, as engines do with a decode
// step.

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/runtime/stream.h"
#include "third_party/hip_api.h"

namespace lanewise::hip {

class Graph {
 public:
  // Records what `queue` queues on the stream that it is given; nothing of it runs. Returns an
  // error of `queue`, or that of something which cannot be recorded, such as an allocation.
  // Unimplemented where the runtime has no graphs, as the emulator.
  static absl::StatusOr<Graph> Capture(const std::function<absl::Status(const Stream&)>& queue);

  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~Graph();

  // Queues all of it, behind the stream's earlier work, with the arguments that were recorded: the
  // memory they point to has to be there still.
  absl::Status Launch(const Stream& stream) const;

 private:
  explicit Graph(hipGraphExec_t graph) : graph_(graph) {}

  hipGraphExec_t graph_ = nullptr;
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_RUNTIME_GRAPH_H_
