#ifndef LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_INDEX_H_
#define LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_INDEX_H_

// model.safetensors.index.json: which file of a sharded checkpoint holds which tensor.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanewise {

struct SafetensorsIndex {
  std::map<std::string, std::string> weight_map;  // tensor -> file, relative to the index
  std::optional<int64_t> total_size;              // what the index says of the tensors' bytes
};

// Reads an index and checks it: strict JSON (no key twice), weight_map an object of strings, each a
// relative path of plain components that stays below the index's directory (no "..", no leading
// '/'). Fields beside weight_map differ in the wild and are let pass; a metadata.total_size that is
// not a non-negative integer is taken as absent.
absl::StatusOr<SafetensorsIndex> ReadSafetensorsIndex(const std::string& path);

// Writes {"metadata": {"total_size": ...}, "weight_map": {...}}, names sorted, by temporary file
// and rename. Equal calls give equal bytes. total_size is left out where there is none.
absl::Status WriteSafetensorsIndex(const std::string& path, const SafetensorsIndex& index);

// What WriteSafetensorsIndex writes.
absl::StatusOr<std::string> SafetensorsIndexText(const SafetensorsIndex& index);

// Whether a file name from an index stays below the index's directory.
bool IsContainedPath(std::string_view name);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_INDEX_H_
