#include "hip/runtime/graph.h"

#include "hip/runtime/error.h"

namespace lanewise::hip {

absl::StatusOr<Graph> Graph::Capture(const std::function<absl::Status(const Stream&)>& queue) {
  // The default stream cannot be captured.
  const absl::StatusOr<Stream> stream = Stream::Create();
  if (!stream.ok()) return stream.status();
  // Other threads may allocate meanwhile; this one may not.
  if (absl::Status status = ToStatus(
          hipStreamBeginCapture(stream->handle(), hipStreamCaptureModeThreadLocal), "capturing");
      !status.ok()) {
    return status;
  }
  const absl::Status queued = queue(*stream);
  hipGraph_t recorded = nullptr;
  const absl::Status ended =
      ToStatus(hipStreamEndCapture(stream->handle(), &recorded), "ending a capture");
  hipGraphExec_t graph = nullptr;
  absl::Status status = queued.ok() ? ended : queued;
  if (status.ok()) {
    status = ToStatus(hipGraphInstantiate(&graph, recorded, nullptr, nullptr, 0),
                      "making a graph of what was captured");
  }
  if (recorded != nullptr) (void)hipGraphDestroy(recorded);
  if (!status.ok()) return status;
  return Graph(graph);
}

Graph::~Graph() {
  if (graph_ != nullptr) (void)hipGraphExecDestroy(graph_);
}

absl::Status Graph::Launch(const Stream& stream) const {
  return ToStatus(hipGraphLaunch(graph_, stream.handle()), "launching a graph");
}

}  // namespace lanewise::hip
