#ifndef LANEWISE_CHECKPOINT_SAFETENSORS_TENSOR_INFO_H_
#define LANEWISE_CHECKPOINT_SAFETENSORS_TENSOR_INFO_H_

// What a safetensors header says of a tensor.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors/dtype.h"

namespace lanewise {

// The name under which a header keeps its metadata; no tensor may have it.
inline constexpr std::string_view kSafetensorsMetadataKey = "__metadata__";

// A tensor as a caller names it before it has a place in a file.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<int64_t> shape;  // row-major, outermost first; empty for a scalar

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// A tensor in a file: bytes [begin, end) of the file's data section.
struct TensorInfo : TensorSpec {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t byte_count() const { return end - begin; }
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SAFETENSORS_TENSOR_INFO_H_
