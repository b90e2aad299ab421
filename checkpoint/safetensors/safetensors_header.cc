#include "checkpoint/safetensors/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "checkpoint/files/json_text.h"
#include "checkpoint/files/text.h"
#include "checkpoint/safetensors/safetensors_header_json.h"

namespace lanewise {
namespace {

// That the tensor's offsets are in order, inside the data section, and as far apart as its shape
// says.
absl::Status CheckTensor(const TensorInfo& tensor, int64_t data_size) {
  if (tensor.begin > tensor.end) {
    return absl::InvalidArgumentError(
        absl::StrCat("data_offsets [", tensor.begin, ", ", tensor.end, "] end before they begin"));
  }
  if (tensor.end > data_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("data_offsets [", tensor.begin, ", ", tensor.end,
                     "] reach past the end of the file, whose data is ", data_size, " bytes"));
  }
  const absl::StatusOr<int64_t> expected = ByteCount(tensor.dtype, tensor.shape);
  if (!expected.ok()) return expected.status();
  if (*expected != tensor.byte_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("data_offsets [", tensor.begin, ", ", tensor.end, "] hold ",
                     tensor.byte_count(), " bytes, but shape ", DimensionsText(tensor.shape),
                     " of ", AbslView(DTypeName(tensor.dtype)), " is ", *expected, " bytes"));
  }
  return absl::OkStatus();
}

// That the tensors, in the order of their bytes, cover the data section without overlap or hole.
absl::Status CheckCover(std::span<const TensorInfo> tensors, int64_t data_size) {
  int64_t next = 0;
  const TensorInfo* previous = nullptr;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != next) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", Quoted(tensor.name), ": begins at data offset ", tensor.begin, ", expected ",
          next, previous == nullptr ? ", where the data begins" : ", where ",
          previous == nullptr ? "" : Quoted(previous->name), previous == nullptr ? "" : " ends",
          tensor.begin < next ? ": they overlap" : ": a hole"));
    }
    next = tensor.end;
    previous = &tensor;
  }
  if (next != data_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tensors end at data offset ", next, ", but the file holds ", data_size,
                     " bytes of data: ", data_size - next, " bytes belong to no tensor"));
  }
  return absl::OkStatus();
}

int64_t LittleEndian(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= uint64_t{bytes[i]} << (8 * i);
  // A length with the top bit set is as impossible as the largest one.
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(value, kMost));
}

// What other kinds of file say in their first bytes, for a message that helps.
std::string_view OtherFormat(std::span<const uint8_t> file) {
  const auto begins = [&](std::string_view magic) {
    return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
  };
  if (begins("GGUF")) return "GGUF is not read here: convert from the original safetensors";
  if (begins("PK\x03\x04")) return "a zip archive, as torch.save writes: save it as safetensors";
  if (begins("version https://git-lfs")) return "a Git LFS pointer: fetch the file itself";
  return "";
}

absl::Status Refuse(std::string_view origin, std::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(AbslView(origin), ": ", AbslView(text)));
}

// `data_size` is the size of the data section, or nothing: it ends where the last tensor does.
absl::StatusOr<SafetensorsHeader> ParseText(std::string_view padded,
                                            std::optional<int64_t> data_size,
                                            std::string_view origin) {
  absl::StatusOr<SafetensorsHeaderJson> json = ReadSafetensorsHeaderJson(padded);
  if (!json.ok()) return Refuse(origin, StdView(json.status().message()));
  SafetensorsHeader header;
  header.tensors = std::move(json->tensors);
  header.metadata = std::move(json->metadata);
  header.json = padded.substr(0, padded.find_last_of('}') + 1);
  header.data_begin = 8 + static_cast<int64_t>(padded.size());

  // Empty tensors at one offset go by their names.
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  if (!data_size) data_size = header.tensors.empty() ? 0 : header.tensors.back().end;
  for (const TensorInfo& tensor : header.tensors) {
    if (const absl::Status status = CheckTensor(tensor, *data_size); !status.ok()) {
      return Refuse(origin, absl::StrCat("tensor ", Quoted(tensor.name), ": ", status.message()));
    }
  }
  if (const absl::Status status = CheckCover(header.tensors, *data_size); !status.ok()) {
    return Refuse(origin, StdView(status.message()));
  }
  return header;
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const uint8_t> file,
                                                         std::string_view file_name) {
  if (const std::string_view other = OtherFormat(file); !other.empty()) {
    return Refuse(file_name, absl::StrCat("not a safetensors file, but ", AbslView(other)));
  }
  const int64_t size = static_cast<int64_t>(file.size());
  if (size < 8) {
    return Refuse(file_name,
                  absl::StrCat("the file has ", size,
                               " bytes, a safetensors file begins with 8 bytes of header length"));
  }
  const int64_t length = LittleEndian(file);
  if (length > kMaxSafetensorsHeaderBytes) {
    return Refuse(file_name, absl::StrCat("the header length is ", length, ", the format allows ",
                                          kMaxSafetensorsHeaderBytes));
  }
  if (length > size - 8) {
    return Refuse(file_name,
                  absl::StrCat("the header length is ", length, ", but only ", size - 8,
                               " bytes follow it: not a safetensors file, or cut short"));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8,
                              static_cast<size_t>(length));
  return ParseText(text, size - 8 - length, file_name);
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeaderText(std::string_view text,
                                                             std::string_view origin) {
  if (text.size() > static_cast<size_t>(kMaxSafetensorsHeaderBytes)) {
    return Refuse(origin, absl::StrCat("the header has ", text.size(), " bytes, the format allows ",
                                       kMaxSafetensorsHeaderBytes));
  }
  return ParseText(text, std::nullopt, origin);
}

absl::StatusOr<std::string> SafetensorsHeaderText(
    std::span<const TensorInfo> tensors, const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      const absl::StatusOr<std::string> json_key = JsonString(key);
      if (!json_key.ok()) return json_key.status();
      const absl::StatusOr<std::string> json_value = JsonString(value);
      if (!json_value.ok()) return json_value.status();
      absl::StrAppend(&text, *json_key, ":", *json_value, ",");
    }
    text.back() = '}';
    text += ",";
  }
  for (const TensorInfo& tensor : tensors) {
    if (tensor.name == kSafetensorsMetadataKey) {
      return absl::InvalidArgumentError("no tensor may be named __metadata__");
    }
    const absl::StatusOr<std::string> name = JsonString(tensor.name);
    if (!name.ok()) return name.status();
    absl::StrAppend(&text, *name, ":{\"dtype\":\"", AbslView(DTypeName(tensor.dtype)),
                    "\",\"shape\":[", absl::StrJoin(tensor.shape, ","), "],\"data_offsets\":[",
                    tensor.begin, ",", tensor.end, "]},");
  }
  if (text.size() == 1) return std::string("{}");
  text.back() = '}';
  return text;
}

}  // namespace lanewise
