#include "checkpoint/safetensors/safetensors_index.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/atomic_file.h"
#include "checkpoint/files/json_text.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/files/strict_json.h"
#include "checkpoint/files/text.h"

namespace lanewise {

bool IsContainedPath(std::string_view name) {
  if (name.find('\0') != name.npos) return false;
  while (true) {
    const size_t slash = name.find('/');
    const std::string_view component = name.substr(0, slash);
    if (component.empty() || component == "." || component == "..") return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
  }
}

absl::StatusOr<SafetensorsIndex> ReadSafetensorsIndex(const std::string& path) {
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  const absl::StatusOr<nlohmann::json> json = ParseStrictJson(text, path);
  if (!json.ok()) return json.status();
  const auto refuse = [&](const std::string& problem) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", problem));
  };
  if (!json->is_object() || !json->contains("weight_map")) {
    return refuse("not an index: it has no weight_map");
  }
  const nlohmann::json& weight_map = (*json)["weight_map"];
  if (!weight_map.is_object()) return refuse("weight_map is not an object of tensor -> file");
  SafetensorsIndex index;
  for (const auto& [name, shard] : weight_map.items()) {
    if (!shard.is_string()) {
      return refuse(absl::StrCat("weight_map gives ", Quoted(name), " no file name"));
    }
    const std::string& shard_name = shard.get_ref<const std::string&>();
    if (!IsContainedPath(shard_name)) {
      return refuse(absl::StrCat("weight_map puts ", Quoted(name), " into ", Quoted(shard_name),
                                 ", expected a file below the index's own directory"));
    }
    index.weight_map.emplace(name, shard_name);
  }
  if (const auto metadata = json->find("metadata");
      metadata != json->end() && metadata->is_object()) {
    if (const auto size = metadata->find("total_size");
        size != metadata->end() && size->is_number_unsigned() &&
        size->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      index.total_size = size->get<int64_t>();
    }
  }
  return index;
}

absl::StatusOr<std::string> SafetensorsIndexText(const SafetensorsIndex& index) {
  std::string text = "{\n  \"metadata\": {";
  if (index.total_size) {
    absl::StrAppend(&text, "\n    \"total_size\": ", *index.total_size, "\n  ");
  }
  text += "},\n  \"weight_map\": {";
  std::string_view separator = "\n    ";
  for (const auto& [name, shard] : index.weight_map) {
    if (!IsContainedPath(shard)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(shard), " is not a file below the index's own directory"));
    }
    const absl::StatusOr<std::string> json_name = JsonString(name);
    if (!json_name.ok()) return json_name.status();
    const absl::StatusOr<std::string> json_shard = JsonString(shard);
    if (!json_shard.ok()) return json_shard.status();
    text.append(separator).append(*json_name).append(": ").append(*json_shard);
    separator = ",\n    ";
  }
  text += index.weight_map.empty() ? "}\n}\n" : "\n  }\n}\n";
  return text;
}

absl::Status WriteSafetensorsIndex(const std::string& path, const SafetensorsIndex& index) {
  const absl::StatusOr<std::string> text = SafetensorsIndexText(index);
  if (!text.ok()) {
    return absl::Status(text.status().code(), absl::StrCat(path, ": ", text.status().message()));
  }
  return WriteFileAtomically(path, *text);
}

}  // namespace lanewise
