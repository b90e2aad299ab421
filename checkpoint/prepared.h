#ifndef LANEWISE_CHECKPOINT_PREPARED_H_
#define LANEWISE_CHECKPOINT_PREPARED_H_

// Prepared files, as an engine reads them:
//
//   absl::StatusOr<PreparedCheckpoint> weights = PreparedCheckpoint::Open(path, "gfx942");
//   if (!weights.ok()) return weights.status();
//   absl::StatusOr<PreparedCheckpoint::View> w =
//       weights->Get("layers.0.attn.wq_b.weight", layout_tag::kGfx942Dense);
//   if (!w.ok()) return w.status();
//   Upload(w->bytes, w->what->shape, *w->what->IntParam("padded_k"));
//
// A kernel that reads bytes in an order other than the one it was written for computes garbage
// without a sign of it, so bytes are given out only against the layout that the caller names.
// prepared_metadata.h says what such a file holds.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/prepared_metadata.h"
#include "checkpoint/safetensors/tensor_set.h"

namespace lanewise {

// Whether any file of the set carries Lanewise's metadata.
bool IsPrepared(const TensorSet& set);

// Spans and pointers that it gives stay valid until it is destroyed, also when it is moved. Reading
// is safe from any number of threads.
class PreparedCheckpoint {
 public:
  struct View {
    const PreparedTensor* what;      // layout, logical shape and dtype, sources, parameters
    std::span<const uint8_t> bytes;  // as stored, memory-mapped
  };

  // Opens a prepared file, index or directory (as TensorSet::Open). Reads the headers only. Refuses
  //  - a file without Lanewise's metadata, or of another format than 1;
  //  - another target than `target`; "" takes any;
  //  - files of one checkpoint whose targets or recipes differ;
  //  - a header that is not what was written (lanewise.header_xxh3);
  //  - a tensor without lanewise.tensor.NAME, and a lanewise.tensor.NAME without a tensor;
  //  - a tensor stored as it cannot be: "plain" under another shape or dtype than its logical one,
  //    any other layout as something else than U8.
  static absl::StatusOr<PreparedCheckpoint> Open(const std::string& path, std::string_view target);

  const std::string& target() const { return target_; }
  const std::string& recipe() const { return recipe_; }
  // The files that it was prepared from, each once, in the order met.
  const std::vector<PreparedSource>& sources() const { return sources_; }

  // The tensor of that name, in that layout. NotFound if there is no such tensor; if its layout is
  // another, FailedPrecondition names both.
  absl::StatusOr<View> Get(std::string_view name, std::string_view layout) const;

  // The tensor's description, whatever its layout, or null: for tools, and for an engine that has
  // kernels for several.
  const PreparedTensor* Describe(std::string_view name) const;

  // Digests the tensor's stored bytes and compares: DataLoss names the tensor and both digests.
  absl::Status Verify(std::string_view name) const;

  // The same of a digest that the caller found.
  absl::Status CheckDigest(std::string_view name, std::string_view digest) const;

  // The stored tensors; every one has a description.
  const TensorSet& set() const { return set_; }

 private:
  explicit PreparedCheckpoint(TensorSet set) : set_(std::move(set)) {}
  absl::Status ReadShard(const TensorSet::Shard& shard, std::string_view target);

  TensorSet set_;
  std::string target_;
  std::string recipe_;
  std::vector<PreparedSource> sources_;
  std::map<std::string, PreparedTensor, std::less<>> described_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARED_H_
