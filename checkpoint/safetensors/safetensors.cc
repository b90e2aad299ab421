#include "checkpoint/safetensors/safetensors.h"

#include <utility>

namespace lanewise {

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  absl::StatusOr<MappedFile> map = MappedFile::Open(path);
  if (!map.ok()) return map.status();
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(map->bytes(), path);
  if (!header.ok()) return header.status();
  return SafetensorsFile(*std::move(map), *std::move(header));
}

SafetensorsFile::SafetensorsFile(MappedFile map, SafetensorsHeader header)
    : map_(std::move(map)), header_(std::move(header)) {
  by_name_.reserve(header_.tensors.size());
  for (const TensorInfo& tensor : header_.tensors) by_name_.emplace(tensor.name, &tensor);
}

const TensorInfo* SafetensorsFile::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

}  // namespace lanewise
