#include "checkpoint/safetensors/safetensors_header_json.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"
#include "checkpoint/safetensors/dtype.h"
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
  enum class State : uint8_t {
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

}  // namespace

absl::StatusOr<SafetensorsHeaderJson> ReadSafetensorsHeaderJson(std::string_view text) {
  if (text.empty() || text.front() != '{') {
    return absl::InvalidArgumentError("the header does not begin with '{'");
  }
  // The parser takes a NUL for the end of its input, so that anything could follow one.
  if (const size_t nul = text.find('\0'); nul != text.npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header holds a NUL byte at file offset ", 8 + nul));
  }
  HeaderEvents events;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &events)) {
    return absl::InvalidArgumentError(events.problem);
  }
  return SafetensorsHeaderJson{std::move(events.tensors), std::move(events.metadata)};
}

}  // namespace lanewise
