#ifndef LANEWISE_CHECKPOINT_RECIPES_RECIPE_OBJECT_H_
#define LANEWISE_CHECKPOINT_RECIPES_RECIPE_OBJECT_H_

// One object of a recipe's JSON, read field by field with nothing overlooked.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"
#include "checkpoint/recipes/name_pattern.h"
#include "checkpoint/recipes/recipe_words.h"
#include "checkpoint/safetensors/dtype.h"
#include "nlohmann/json.hpp"

namespace lanewise::internal {

using Json = nlohmann::json;

// Reads one object of the file. Takes note of the fields asked for, so that Done() can refuse
// others.
class RecipeObject {
 public:
  RecipeObject(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) Fail("is not an object");
  }

  // The field, or null.
  const Json* Find(const char* name) {
    asked_.insert(name);
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }

  const Json* Need(const char* name) {
    const Json* const field = Find(name);
    if (field == nullptr) Fail(absl::StrCat("needs \"", name, "\""));
    return field;
  }

  // "" where there is none.
  std::string Text(const char* name, bool needed) {
    const Json* const field = needed ? Need(name) : Find(name);
    if (field == nullptr) return "";
    if (!field->is_string() || field->get_ref<const std::string&>().empty()) {
      Fail(absl::StrCat("\"", name, "\" has to be a text that is not empty"));
      return "";
    }
    return field->get<std::string>();
  }

  bool Flag(const char* name) {
    const Json* const field = Find(name);
    if (field == nullptr) return false;
    if (field->is_boolean()) return field->get<bool>();
    Fail(absl::StrCat("\"", name, "\" has to be true or false"));
    return false;
  }

  int64_t Positive(const char* name) {
    const Json* const field = Need(name);
    if (field == nullptr) return 1;
    if (field->is_number_unsigned() && field->get<uint64_t>() > 0 &&
        field->get<uint64_t>() < (uint64_t{1} << 32)) {
      return field->get<int64_t>();
    }
    Fail(absl::StrCat("\"", name, "\" has to be an integer from 1"));
    return 1;
  }

  // The value of a word; `otherwise` where there is none.
  template <class Enum>
  Enum OneOf(const char* name, Enum otherwise, bool needed) {
    const std::string text = Text(name, needed);
    if (text.empty()) return otherwise;
    if (const std::optional<Enum> value = FromRecipeWord<Enum>(text)) return *value;
    Fail(absl::StrCat("\"", name, "\" is ", Quoted(text), ", expected one of ",
                      RecipeWords<Enum>()));
    return otherwise;
  }

  // The texts of an array of texts; empty where there is none.
  std::vector<std::string> Texts(const char* name, bool needed) {
    const Json* const field = needed ? Need(name) : Find(name);
    std::vector<std::string> texts;
    if (field == nullptr) return texts;
    if (!field->is_array() || field->empty()) {
      Fail(absl::StrCat("\"", name, "\" has to be an array that is not empty"));
      return texts;
    }
    for (const Json& text : *field) {
      if (text.is_string()) {
        texts.push_back(text.get<std::string>());
      } else {
        Fail(absl::StrCat("\"", name, "\" holds what is not a text"));
      }
    }
    return texts;
  }

  std::vector<DType> DTypes(const char* name, bool needed) {
    std::vector<DType> dtypes;
    for (const std::string& text : Texts(name, needed)) {
      if (const std::optional<DType> dtype = DTypeFromName(text)) {
        dtypes.push_back(*dtype);
      } else {
        Fail(absl::StrCat("unknown dtype ", Quoted(text)));
      }
    }
    return dtypes;
  }

  std::optional<NamePattern> Pattern(const char* name) {
    const std::string text = Text(name, false);
    if (text.empty()) return std::nullopt;
    absl::StatusOr<NamePattern> pattern = NamePattern::Parse(text);
    if (pattern.ok()) return *std::move(pattern);
    Fail(StdView(pattern.status().message()));
    return std::nullopt;
  }

  NameTemplate Template(const char* name) {
    absl::StatusOr<NameTemplate> result = NameTemplate::Parse(Text(name, false));
    if (result.ok()) return *std::move(result);
    Fail(StdView(result.status().message()));
    return NameTemplate();
  }

  void Fail(std::string_view problem) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat(where_, ": ", AbslView(problem)));
    }
  }

  const std::string& where() const { return where_; }
  bool ok() const { return status_.ok(); }

  // Refuses a field that was never asked for.
  absl::Status Done() {
    if (json_.is_object()) {
      for (const auto& [name, value] : json_.items()) {
        if (!asked_.contains(name)) Fail(absl::StrCat("there is no field ", Quoted(name), " here"));
      }
    }
    return status_;
  }

 private:
  const Json& json_;
  std::string where_;
  std::set<std::string> asked_;
  absl::Status status_;
};

}  // namespace lanewise::internal

#endif  // LANEWISE_CHECKPOINT_RECIPES_RECIPE_OBJECT_H_
