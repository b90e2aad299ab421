#include "tests/golden/manifest.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace lanewise::golden {
namespace {

using Json = nlohmann::json;

absl::StatusOr<Json> ReadJson(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(path, ": cannot be opened");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return DataLoss(path, ": cannot be read");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument(path, ": not JSON");
  return json;
}

// The tensors of a case's "in" or "out", {role: tensor name}. A case may have none.
absl::StatusOr<std::map<std::string, TensorView>> Tensors(const Json& entry, const char* side,
                                                          const SafetensorsFile& file) {
  std::map<std::string, TensorView> tensors;
  const auto roles = entry.find(side);
  if (roles == entry.end()) return tensors;
  if (!roles->is_object()) {
    return InvalidArgument("'", side, "' is not an object");
  }
  for (const auto& [role, name] : roles->items()) {
    if (!name.is_string()) {
      return InvalidArgument("'", side, "' names no tensor for ", role);
    }
    const TensorInfo* info = file.Find(name.get<std::string>());
    if (info == nullptr) {
      return NotFound("no tensor ", name.dump(), " in ", file.path(), " for ", role);
    }
    tensors[role] = TensorView{info->dtype, info->shape, file.Bytes(*info)};
  }
  return tensors;
}

absl::StatusOr<Case> ParseCase(std::int64_t index, const Json& entry, const SafetensorsFile& file) {
  if (!entry.is_object()) return InvalidArgument("not an object");
  const auto op = entry.find("op");
  if (op == entry.end() || !op->is_string()) return InvalidArgument("no text 'op'");
  const Json args = entry.value("args", Json::object());
  if (!args.is_object()) return InvalidArgument("'args' is not an object");
  LANEWISE_ASSIGN_OR_RETURN(auto inputs, Tensors(entry, "in", file));
  LANEWISE_ASSIGN_OR_RETURN(auto outputs, Tensors(entry, "out", file));
  return Case(index, op->get<std::string>(), args, std::move(inputs), std::move(outputs));
}

}  // namespace

absl::StatusOr<Manifest> Manifest::Open(const std::string& json_path) {
  std::filesystem::path path(json_path);
  if (path.extension() != ".json") {
    return InvalidArgument(json_path, ": expected a manifest, NAME.json beside NAME.safetensors");
  }
  LANEWISE_ASSIGN_OR_RETURN(Json json, ReadJson(json_path));
  if (!json.is_object() || !json.contains("cases") || !json["cases"].is_array()) {
    return InvalidArgument(json_path, ": expected an object with a list 'cases'");
  }
  LANEWISE_ASSIGN_OR_RETURN(
      SafetensorsFile tensors,
      SafetensorsFile::Open(
          std::filesystem::path(path).replace_extension(".safetensors").string()));
  std::vector<Case> cases;
  for (const Json& entry : json["cases"]) {
    const std::int64_t index = static_cast<std::int64_t>(cases.size());
    absl::StatusOr<Case> parsed = ParseCase(index, entry, tensors);
    if (!parsed.ok()) {
      return absl::Status(parsed.status().code(), absl::StrCat(json_path, ": case ", index, ": ",
                                                               parsed.status().message()));
    }
    cases.push_back(*std::move(parsed));
  }
  return Manifest(path.stem().string(), std::move(tensors), std::move(cases));
}

}  // namespace lanewise::golden
