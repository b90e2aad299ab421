#ifndef LANEWISE_TOOLS_INSPECT_INSPECT_H_
#define LANEWISE_TOOLS_INSPECT_INSPECT_H_

// What a checkpoint holds, source or prepared, for `lanewise inspect`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/prepared_metadata.h"
#include "checkpoint/safetensors/safetensors_header.h"
#include "tools/inspect/element_counts.h"

namespace lanewise::tools {

struct InspectedTensor {
  TensorSpec stored;
  std::string file;  // of the set
  std::int64_t bytes = 0;
  std::optional<PreparedTensor> prepared;  // what a prepared file says of it
  // What its elements are: a prepared file's word, the recipe's, or the stored type. U8 tensors are
  // codes (F8_E8M0) or packed pairs (F4) where the recipe or, failing that, their name says so.
  DType elements = DType::kU8;
  std::optional<ElementCounts> counts;  // where asked for, of floats and codes
};

struct Inspection {
  // Of a prepared checkpoint; "" of a source.
  std::string target;
  std::string recipe;  // prepared with, or recognised
  std::vector<PreparedSource> sources;
  std::vector<std::string> notes;
  std::vector<InspectedTensor> tensors;  // in the order of the files
};

// Opens a file, an index or a directory. `values`: also reads the tensors' bytes and counts.
// Whatever the files hold, this returns.
absl::StatusOr<Inspection> Inspect(const std::string& path, bool values, int threads);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_INSPECT_INSPECT_H_
