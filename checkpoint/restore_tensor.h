#ifndef LANEWISE_CHECKPOINT_RESTORE_TENSOR_H_
#define LANEWISE_CHECKPOINT_RESTORE_TENSOR_H_

// Takes one prepared tensor back to its sources, a piece at a time: from mapped file to mapped
// file, on several threads, each piece's pages given back after it.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/mapped_file.h"
#include "weights/tensor_plan.h"

namespace lanewise {

// Bytes of a file that is mapped, and all of it.
template <class Byte>
struct MappedBytes {
  std::span<Byte> bytes;
  std::span<Byte> mapping;
};
using MappedSource = MappedBytes<const std::uint8_t>;
using MappedSink = MappedBytes<std::uint8_t>;

struct RestoreSettings {
  int threads = 1;
  std::int64_t memory = 0;       // that pieces in flight may hold
  std::int64_t piece_bytes = 0;  // of a piece, about
  PassedPages* passed = nullptr;
};

// The memory that the smallest piece of a plan may hold.
std::int64_t LeastRestoreMemory(const TensorPlan& plan);

// As RestorePlan (weights/tensor_plan.h).
absl::Status RestoreTensor(const TensorPlan& plan, const MappedSource& from,
                           const std::vector<MappedSink>& sinks, const RestoreSettings& settings);

// As ApplyZeroSigns (weights/zero_signs.h).
absl::Status RestoreZeroSigns(const TensorPlan& plan, const MappedSource& bits,
                              const std::vector<MappedSink>& sinks,
                              const RestoreSettings& settings);

// The bytes as they are; the sizes are equal.
void CopyTensor(const MappedSource& from, const MappedSink& to, const RestoreSettings& settings);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RESTORE_TENSOR_H_
