#include "checkpoint/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "checkpoint/json_text.h"
#include "checkpoint/text.h"
#include "nlohmann/json.hpp"

namespace lanewise {
namespace {

// Receives the header's JSON event by event and keeps what the format allows. A state machine: the
// format nests three levels, anything deeper is refused at its opening bracket. Events rather than
// a document, because a document keeps only the last of two equal keys.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Unexpected("null"); }
  bool boolean(bool value) override { return Unexpected(value ? "true" : "false"); }
  // The lexer reports only numbers with a minus sign here, -0 among them.
  bool number_integer(number_integer_t value) override {
    return Unexpected(absl::StrCat("the number ", value == 0 ? "-" : "", value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (state_ != State::kShape && state_ != State::kOffsets) {
      return Unexpected(absl::StrCat("the number ", value));
    }
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Fail(absl::StrCat(Where(), "the number ", value, " is beyond 2^63 - 1"));
    }
    (state_ == State::kShape ? tensor_.shape : offsets_).push_back(static_cast<int64_t>(value));
    return true;
  }
  bool number_float(number_float_t, const string_t& text) override {
    return Unexpected(absl::StrCat("the number ", text.substr(0, 40)));
  }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool string(string_t& text) override {
    if (state_ == State::kMetadataText) {
      metadata.emplace(std::move(metadata_key_), std::move(text));
      state_ = State::kMetadata;
      return true;
    }
    if (state_ == State::kDType) {
      const std::optional<DType> dtype = DTypeFromName(text);
      if (!dtype) return Fail(absl::StrCat(Where(), "unknown dtype ", Quoted(text)));
      tensor_.dtype = *dtype;
      state_ = State::kTensor;
      return true;
    }
    return Unexpected(absl::StrCat("the string ", Quoted(text)));
  }

  bool start_object(std::size_t) override {
    switch (state_) {
      case State::kStart:
        state_ = State::kTop;
        return true;
      case State::kMetadataObject:
        state_ = State::kMetadata;
        return true;
      case State::kTensorObject:
        state_ = State::kTensor;
        return true;
      default:
        return Unexpected("an object");
    }
  }

  bool key(string_t& text) override {
    switch (state_) {
      case State::kTop:
        if (!names_.insert(text).second) {
          return Fail(absl::StrCat("the header holds ", Quoted(text), " twice"));
        }
        if (text == kSafetensorsMetadataKey) {
          state_ = State::kMetadataObject;
        } else {
          tensor_ = TensorInfo();
          tensor_.name = std::move(text);
          offsets_.clear();
          seen_dtype_ = seen_shape_ = seen_offsets_ = false;
          state_ = State::kTensorObject;
        }
        return true;
      case State::kMetadata:
        if (metadata.contains(text)) {
          return Fail(absl::StrCat("__metadata__ holds ", Quoted(text), " twice"));
        }
        metadata_key_ = std::move(text);
        state_ = State::kMetadataText;
        return true;
      default:  // kTensor: the parser reports keys inside objects only
        return Field(text);
    }
  }

  bool end_object() override {
    if (state_ == State::kTensor) {
      if (!(seen_dtype_ && seen_shape_ && seen_offsets_)) {
        return Fail(absl::StrCat(Where(), "has no ",
                                 !seen_dtype_   ? "dtype"
                                 : !seen_shape_ ? "shape"
                                                : "data_offsets"));
      }
      tensor_.begin = offsets_[0];
      tensor_.end = offsets_[1];
      tensors.push_back(std::move(tensor_));
    }
    state_ = state_ == State::kTop ? State::kEnd : State::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ == State::kShapeArray) {
      state_ = State::kShape;
    } else if (state_ == State::kOffsetsArray) {
      state_ = State::kOffsets;
    } else {
      return Unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    if (state_ == State::kOffsets && offsets_.size() != 2) {
      return Fail(
          absl::StrCat(Where(), "data_offsets holds ", offsets_.size(), " numbers, expected 2"));
    }
    state_ = State::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    // nlohmann's text says what the parser wanted; its tag and its line and column (of a header
    // that is one line) only get in the way.
    std::string_view what = error.what();
    if (const size_t start = what.find(": "); start != what.npos) what = what.substr(start + 2);
    return Fail(absl::StrCat("the header is not JSON at file offset ", 8 + position - 1, ": ",
                             absl::Utf8SafeCEscape(AbslView(what.substr(0, 300)))));
  }

  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
  std::string problem;

 private:
  enum class State {
    kStart,           // before the header's {
    kTop,             // in the header
    kMetadataObject,  // after "__metadata__":
    kMetadata,
    kMetadataText,
    kTensorObject,  // after a tensor's name
    kTensor,
    kDType,
    kShapeArray,
    kShape,
    kOffsetsArray,
    kOffsets,
    kEnd,
  };

  bool Field(const std::string& text) {
    bool* seen = nullptr;
    if (text == "dtype") {
      seen = &seen_dtype_;
      state_ = State::kDType;
    } else if (text == "shape") {
      seen = &seen_shape_;
      state_ = State::kShapeArray;
    } else if (text == "data_offsets") {
      seen = &seen_offsets_;
      state_ = State::kOffsetsArray;
    } else {
      return Fail(absl::StrCat(Where(), "unknown field ", Quoted(text),
                               ", expected dtype, shape and data_offsets"));
    }
    if (*seen) return Fail(absl::StrCat(Where(), "holds ", Quoted(text), " twice"));
    *seen = true;
    return true;
  }

  bool Unexpected(std::string_view found) {
    std::string_view expected;
    switch (state_) {
      case State::kStart:
      case State::kTop:
      case State::kEnd:
        expected = "the header's object";
        break;
      case State::kMetadataObject:
        expected = "an object of strings";
        break;
      case State::kMetadata:
      case State::kMetadataText:
        return Fail(absl::StrCat("__metadata__: ", Quoted(metadata_key_), " is ", AbslView(found),
                                 ", expected a string"));
      case State::kTensorObject:
      case State::kTensor:
        expected = "an object of dtype, shape and data_offsets";
        break;
      case State::kDType:
        expected = "dtype as a string";
        break;
      case State::kShapeArray:
      case State::kShape:
        expected = "shape as an array of integers from 0";
        break;
      case State::kOffsetsArray:
      case State::kOffsets:
        expected = "data_offsets as an array of two integers from 0";
        break;
    }
    return Fail(
        absl::StrCat(Where(), "found ", AbslView(found), ", expected ", AbslView(expected)));
  }

  std::string Where() const {
    if (state_ == State::kStart || state_ == State::kTop || state_ == State::kEnd) {
      return "the header: ";
    }
    if (state_ == State::kMetadataObject) return "__metadata__: ";
    return absl::StrCat("tensor ", Quoted(tensor_.name), ": ");
  }

  bool Fail(std::string text) {
    problem = std::move(text);
    return false;  // ends the parse
  }

  State state_ = State::kStart;
  std::unordered_set<std::string> names_;
  TensorInfo tensor_;
  std::vector<int64_t> offsets_;
  bool seen_dtype_ = false;
  bool seen_shape_ = false;
  bool seen_offsets_ = false;
  std::string metadata_key_;
};

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
  if (padded.empty() || padded.front() != '{') {
    return Refuse(origin, "the header does not begin with '{'");
  }
  // The parser takes a NUL for the end of its input, so that anything could follow one.
  if (const size_t nul = padded.find('\0'); nul != padded.npos) {
    return Refuse(origin, absl::StrCat("the header holds a NUL byte at file offset ", 8 + nul));
  }
  HeaderEvents events;
  if (!nlohmann::json::sax_parse(padded.begin(), padded.end(), &events)) {
    return Refuse(origin, events.problem);
  }
  SafetensorsHeader header;
  header.tensors = std::move(events.tensors);
  header.metadata = std::move(events.metadata);
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
