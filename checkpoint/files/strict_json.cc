#include "checkpoint/files/strict_json.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"

namespace lanewise {
namespace {

using Json = nlohmann::json;

constexpr size_t kDeepest = 32;

// Builds the document; refuses where the header comment says.
class Builder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return Fail("binary data"); }
  bool start_object(std::size_t) override { return Open(Json::object()); }
  bool start_array(std::size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& text) override {
    if (open_.back()->contains(text)) {
      return Fail(absl::StrCat("the key ", Quoted(text), " stands twice in one object"));
    }
    key_ = std::move(text);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const Json::exception& error) override {
    std::string_view what = error.what();
    if (const size_t start = what.find("] "); start != what.npos) what = what.substr(start + 2);
    return Fail(absl::StrCat("not JSON at byte ", position, ": ",
                             absl::Utf8SafeCEscape(AbslView(what.substr(0, 300)))));
  }

  Json document;
  std::string problem;

 private:
  // The place for the next value: the document, the end of the open array or the key's place.
  template <class Value>
  Json& Place(Value&& value) {
    if (open_.empty()) return document = std::forward<Value>(value);
    Json& parent = *open_.back();
    if (parent.is_array()) return parent.emplace_back(std::forward<Value>(value));
    return parent[key_] = std::forward<Value>(value);
  }

  template <class Value>
  bool Add(Value&& value) {
    Place(std::forward<Value>(value));
    return true;
  }

  bool Open(Json container) {
    if (open_.size() == kDeepest) {
      return Fail(absl::StrCat("nested deeper than ", kDeepest));
    }
    // An array that grows moves its elements, but only the innermost container grows.
    open_.push_back(&Place(std::move(container)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  bool Fail(std::string text) {
    problem = std::move(text);
    return false;
  }

  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace

absl::StatusOr<Json> ParseStrictJson(std::string_view text, std::string_view origin) {
  const auto refuse = [&](std::string_view problem) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(origin), ": ", AbslView(problem)));
  };
  if (const size_t nul = text.find('\0'); nul != text.npos) {
    return refuse(absl::StrCat("a NUL byte at byte ", nul + 1));
  }
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return refuse(builder.problem);
  return std::move(builder.document);
}

}  // namespace lanewise
