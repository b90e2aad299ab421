#include "checkpoint/prepared_metadata.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "checkpoint/files/digest.h"
#include "checkpoint/files/json_text.h"
#include "checkpoint/files/strict_json.h"
#include "checkpoint/files/text.h"
#include "layouts/catalogue.h"

namespace lanewise {
namespace {

using Json = nlohmann::json;

// Columns of a late integer: the longest int64, -9223372036854775808.
constexpr size_t kLateColumns = 20;

bool IsDigest(std::string_view text) {
  return text.size() == kDigestDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Reads the fields of one JSON object, remembering the first thing that was wrong.
class Fields {
 public:
  Fields(const Json& object, std::string_view origin) : object_(object), origin_(origin) {
    if (!object.is_object()) Fail("is not a JSON object");
  }

  const Json* Field(const char* name) {
    if (!status_.ok()) return nullptr;
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    Fail(absl::StrCat("has no \"", name, "\""));
    return nullptr;
  }

  std::string Text(const char* name) {
    const Json* const field = Field(name);
    if (field == nullptr) return "";
    if (field->is_string()) return field->get<std::string>();
    Fail(absl::StrCat("\"", name, "\" is not a string"));
    return "";
  }

  std::string DigestText(const char* name) {
    std::string text = Text(name);
    if (status_.ok() && !IsDigest(text)) {
      Fail(absl::StrCat("\"", name, "\" is ", Quoted(text),
                        ", expected 16 lower-case hexadecimal digits"));
    }
    return text;
  }

  // An integer in [0, 2^63).
  int64_t Count(const Json& value, const char* name) {
    if (value.is_number_unsigned() &&
        value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return value.get<int64_t>();
    }
    Fail(absl::StrCat("\"", name, "\" holds what is not an integer from 0"));
    return 0;
  }

  void Fail(std::string_view problem) {
    if (status_.ok()) {
      status_ =
          absl::InvalidArgumentError(absl::StrCat(AbslView(origin_), ": ", AbslView(problem)));
    }
  }

  const absl::Status& status() const { return status_; }

 private:
  const Json& object_;
  std::string_view origin_;
  absl::Status status_;
};

}  // namespace

std::span<const std::string_view> AllLayoutTags() {
  static const auto* const tags = [] {
    auto* const all = new std::vector<std::string_view>;
    for (const Layout& layout : kCatalogue) {
      if (layout.prepared_format == 1) all->push_back(layout.tag);
    }
    return all;
  }();
  return *tags;
}

absl::StatusOr<int64_t> PreparedTensor::IntParam(std::string_view name) const {
  const auto found = params.find(std::string(name));
  if (found == params.end()) {
    return absl::NotFoundError(absl::StrCat("no parameter ", Quoted(name)));
  }
  if (const int64_t* const value = std::get_if<int64_t>(&found->second)) return *value;
  return absl::InvalidArgumentError(
      absl::StrCat("parameter ", Quoted(name), " is text, expected an integer"));
}

absl::StatusOr<std::string> PreparedTensor::TextParam(std::string_view name) const {
  const auto found = params.find(std::string(name));
  if (found == params.end()) {
    return absl::NotFoundError(absl::StrCat("no parameter ", Quoted(name)));
  }
  if (const std::string* const value = std::get_if<std::string>(&found->second)) return *value;
  return absl::InvalidArgumentError(
      absl::StrCat("parameter ", Quoted(name), " is an integer, expected text"));
}

absl::StatusOr<std::string> PreparedTensorJson(const PreparedTensor& tensor,
                                               std::span<const std::string> late) {
  absl::Status status;
  const auto text_of = [&](std::string_view text) {
    absl::StatusOr<std::string> json = JsonString(text);
    if (json.ok()) return *std::move(json);
    status = json.status();
    return std::string();
  };
  std::string json = absl::StrCat("{\"layout\":", text_of(tensor.layout), ",\"shape\":[",
                                  absl::StrJoin(tensor.shape, ","), "],\"dtype\":\"",
                                  AbslView(DTypeName(tensor.dtype)), "\",\"from\":[");
  std::string_view separator;
  for (const std::string& name : tensor.from) {
    json.append(separator).append(text_of(name));
    separator = ",";
  }
  json += "],\"params\":{";
  separator = "";
  for (const auto& [name, value] : tensor.params) {
    json.append(separator).append(text_of(name)).append(":");
    separator = ",";
    if (const int64_t* const number = std::get_if<int64_t>(&value)) {
      std::string digits = absl::StrCat(*number);
      if (std::find(late.begin(), late.end(), name) != late.end()) digits.resize(kLateColumns, ' ');
      json += digits;
    } else {
      json += text_of(std::get<std::string>(value));
    }
  }
  absl::StrAppend(&json, "},\"xxh3\":", text_of(tensor.xxh3), "}");
  if (!status.ok()) return status;
  return json;
}

absl::StatusOr<std::string> PreparedSourcesJson(std::span<const PreparedSource> sources) {
  std::string json = "[";
  std::string_view separator;
  for (const PreparedSource& source : sources) {
    const absl::StatusOr<std::string> file = JsonString(source.file);
    if (!file.ok()) return file.status();
    const absl::StatusOr<std::string> xxh3 = JsonString(source.xxh3);
    if (!xxh3.ok()) return xxh3.status();
    absl::StrAppend(&json, AbslView(separator), "{\"file\":", *file, ",\"size\":", source.size,
                    ",\"xxh3\":", *xxh3, "}");
    separator = ",";
  }
  return json + "]";
}

absl::StatusOr<PreparedTensor> ParsePreparedTensor(std::string_view text, std::string_view origin) {
  const absl::StatusOr<Json> json = ParseStrictJson(text, origin);
  if (!json.ok()) return json.status();
  Fields fields(*json, origin);
  PreparedTensor tensor;
  tensor.layout = fields.Text("layout");
  if (const Json* const shape = fields.Field("shape")) {
    if (!shape->is_array()) fields.Fail("\"shape\" is not an array");
    for (const Json& size : *shape) tensor.shape.push_back(fields.Count(size, "shape"));
  }
  const std::string dtype_name = fields.Text("dtype");
  const std::optional<DType> dtype = DTypeFromName(dtype_name);
  if (dtype) {
    tensor.dtype = *dtype;
  } else {
    fields.Fail(absl::StrCat("unknown dtype ", Quoted(dtype_name)));
  }
  if (const Json* const from = fields.Field("from")) {
    if (!from->is_array()) fields.Fail("\"from\" is not an array");
    for (const Json& name : *from) {
      if (name.is_string()) {
        tensor.from.push_back(name.get<std::string>());
      } else {
        fields.Fail("\"from\" holds what is not a string");
      }
    }
  }
  if (const Json* const params = fields.Field("params")) {
    if (!params->is_object()) fields.Fail("\"params\" is not an object");
    for (const auto& [name, value] : params->items()) {
      if (value.is_string()) {
        tensor.params.emplace(name, value.get<std::string>());
      } else if (value.is_number_integer() &&
                 !(value.is_number_unsigned() &&
                   value.get<uint64_t>() >
                       static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))) {
        tensor.params.emplace(name, value.get<int64_t>());
      } else {
        fields.Fail(absl::StrCat("parameter ", Quoted(name),
                                 " is neither a string nor an integer below 2^63"));
      }
    }
  }
  tensor.xxh3 = fields.DigestText("xxh3");
  if (!fields.status().ok()) return fields.status();
  if (const absl::StatusOr<int64_t> count = ElementCount(tensor.shape); !count.ok()) {
    fields.Fail(StdView(count.status().message()));
    return fields.status();
  }
  return tensor;
}

absl::StatusOr<std::vector<PreparedSource>> ParsePreparedSources(std::string_view text,
                                                                 std::string_view origin) {
  const absl::StatusOr<Json> json = ParseStrictJson(text, origin);
  if (!json.ok()) return json.status();
  if (!json->is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(origin), ": is not a JSON array"));
  }
  std::vector<PreparedSource> sources;
  for (const Json& object : *json) {
    Fields fields(object, origin);
    PreparedSource source;
    source.file = fields.Text("file");
    if (const Json* const size = fields.Field("size")) source.size = fields.Count(*size, "size");
    source.xxh3 = fields.DigestText("xxh3");
    if (!fields.status().ok()) return fields.status();
    sources.push_back(std::move(source));
  }
  return sources;
}

absl::StatusOr<std::string> HeaderDigest(std::string_view header_json) {
  // Inside a JSON string every quote is escaped, so these characters are the key and nothing else.
  constexpr std::string_view kOpening = "\"lanewise.header_xxh3\":\"";
  const size_t found = header_json.find(kOpening);
  if (found == header_json.npos) {
    return absl::InvalidArgumentError("the header does not hold lanewise.header_xxh3 as written");
  }
  const size_t begin = found + kOpening.size();
  const size_t end = begin + kDigestDigits;
  if (end >= header_json.size() || header_json[end] != '"') {
    return absl::InvalidArgumentError("lanewise.header_xxh3 is not 16 digits");
  }
  const auto bytes = [&](size_t from, size_t to) {
    return std::span(reinterpret_cast<const uint8_t*>(header_json.data()) + from, to - from);
  };
  Digest digest;
  digest.Update(bytes(0, begin));
  digest.Update(bytes(end, header_json.size()));
  return digest.Hex();
}

}  // namespace lanewise
