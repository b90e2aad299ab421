#include "checkpoint/synthesize/synthesize_model.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/files/strict_json.h"
#include "checkpoint/files/text.h"
#include "checkpoint/recipes/recipe_object.h"

namespace lanewise {
namespace {

using Json = nlohmann::json;
using internal::RecipeObject;

// The texts of models/*.json, made by the build.
constexpr std::string_view kBuiltInTexts[] = {
#include "checkpoint/synthesize/built_in_models.inc"
};

// The size that ModelChanges::experts limits, and the repetition that ModelChanges::layers does.
constexpr char kExpertsSize[] = "experts";
constexpr char kLayer[] = "layer";

std::string Placeholder(std::string_view each) { return absl::StrCat("{", AbslView(each), "}"); }

void ReplaceAll(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

class SyntheticModel::Reader {
 public:
  explicit Reader(const std::map<std::string, std::int64_t>& sizes) : sizes_(sizes) {}

  absl::StatusOr<std::vector<Item>> Items(const Json* json, const std::string& where) {
    if (json == nullptr || !json->is_array() || json->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": \"items\" has to be an array that is not empty"));
    }
    std::vector<Item> items;
    for (const Json& entry : *json) {
      absl::StatusOr<Item> item = OneItem(entry, absl::StrCat(where, ": item ", items.size() + 1));
      if (!item.ok()) return item.status();
      items.push_back(*std::move(item));
    }
    return items;
  }

 private:
  absl::StatusOr<Item> OneItem(const Json& json, const std::string& where) {
    RecipeObject object(json, where);
    Item item;
    if (object.Find("each") != nullptr) {
      item.each = object.Text("each", true);
      if (const Json* const first = object.Find("first")) item.first = Read(*first, object);
      if (const Json* const end = object.Need("end")) item.end = Read(*end, object);
      if (std::find(each_.begin(), each_.end(), item.each) != each_.end()) {
        object.Fail(absl::StrCat("each ", Quoted(item.each), " within itself"));
      }
      const Json* const inner = object.Need("items");
      if (absl::Status status = object.Done(); !status.ok()) return status;
      each_.push_back(item.each);
      absl::StatusOr<std::vector<Item>> items = Items(inner, where);
      each_.pop_back();
      if (!items.ok()) return items.status();
      item.items = *std::move(items);
      return item;
    }
    item.name = object.Text("name", true);
    CheckPlaceholders(item.name, object);
    const std::string dtype = object.Text("dtype", true);
    if (const std::optional<DType> found = DTypeFromName(dtype)) {
      item.dtype = *found;
    } else {
      object.Fail(absl::StrCat("unknown dtype ", Quoted(dtype)));
    }
    const Json* const shape = object.Need("shape");
    if (shape != nullptr && !shape->is_array()) object.Fail("\"shape\" has to be an array");
    if (shape != nullptr && shape->is_array()) {
      for (const Json& dimension : *shape) item.shape.push_back(Read(dimension, object));
    }
    ReadValues(object, item);
    if (absl::Status status = object.Done(); !status.ok()) return status;
    return item;
  }

  static void ReadValues(RecipeObject& object, Item& item) {
    const std::string word = object.Text("values", false);
    const std::optional<SyntheticValues> values =
        word.empty() ? DefaultSyntheticValues(item.dtype) : SyntheticValuesFromName(word);
    if (!values.has_value()) {
      object.Fail(word.empty()
                      ? absl::StrCat("what a tensor of dtype ", AbslView(DTypeName(item.dtype)),
                                     " holds has to be said: \"values\"")
                      : absl::StrCat("unknown values ", Quoted(word)));
    } else if (!CanHold(item.dtype, *values)) {
      object.Fail(absl::StrCat("a tensor of dtype ", AbslView(DTypeName(item.dtype)),
                               " cannot hold ", AbslView(SyntheticValuesName(*values))));
    } else {
      item.values = *values;
    }
  }

  // Every {...} of a name has to be one of the repetitions around it.
  void CheckPlaceholders(const std::string& name, RecipeObject& object) const {
    std::string left = name;
    for (const std::string& each : each_) {
      if (left.find(Placeholder(each)) == std::string::npos) {
        object.Fail(absl::StrCat(Quoted(name), " repeats for each ", each, " without saying ",
                                 Placeholder(each)));
      }
      ReplaceAll(left, Placeholder(each), "");
    }
    if (left.find_first_of("{}") != std::string::npos) {
      object.Fail(absl::StrCat(Quoted(name), " has a placeholder that no repetition fills"));
    }
  }

  Dimension Read(const Json& json, RecipeObject& object) const {
    if (json.is_number_unsigned() &&
        json.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max()) {
      return {Factor{"", json.get<std::int64_t>(), false}};
    }
    if (!json.is_string()) {
      object.Fail("a size is neither a number nor a text such as \"heads*head_dim/32\"");
      return {};
    }
    const std::string& text = json.get_ref<const std::string&>();
    Dimension dimension;
    std::size_t begin = 0;
    bool divides = false;
    while (true) {
      const std::size_t end = std::min(text.find_first_of("*/", begin), text.size());
      Factor factor{text.substr(begin, end - begin), 1, divides};
      if (absl::SimpleAtoi(factor.size, &factor.number)) {
        factor.size.clear();
        if (factor.number < 1) {
          object.Fail(absl::StrCat(Quoted(text), ": numbers are from 1"));
        }
      } else if (!sizes_.contains(factor.size)) {
        object.Fail(absl::StrCat(Quoted(text), ": there is no size ", Quoted(factor.size)));
      }
      dimension.push_back(std::move(factor));
      if (end == text.size()) return dimension;
      divides = text[end] == '/';
      begin = end + 1;
    }
  }

  const std::map<std::string, std::int64_t>& sizes_;
  std::vector<std::string> each_;  // of the repetitions around an item
};

class SyntheticModel::Expander {
 public:
  Expander(const std::map<std::string, std::int64_t>& sizes, std::optional<std::int64_t> layers)
      : sizes_(sizes), layers_(layers) {}

  absl::Status Add(const std::vector<Item>& items) {
    for (const Item& item : items) {
      if (absl::Status status = item.each.empty() ? AddTensor(item) : Repeat(item); !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  std::vector<SyntheticTensor> Take() { return std::move(tensors_); }

 private:
  absl::Status Repeat(const Item& item) {
    const absl::StatusOr<std::int64_t> first =
        item.first.empty() ? absl::StatusOr<std::int64_t>(0) : Size(item.first);
    if (!first.ok()) return first.status();
    absl::StatusOr<std::int64_t> end = Size(item.end);
    if (!end.ok()) return end.status();
    if (item.each == kLayer && layers_.has_value() && *end - *first > *layers_) {
      end = *first + *layers_;
    }
    for (std::int64_t i = *first; i < *end; ++i) {
      numbers_.emplace_back(Placeholder(item.each), absl::StrCat(i));
      const absl::Status status = Add(item.items);
      numbers_.pop_back();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status AddTensor(const Item& item) {
    SyntheticTensor tensor{{item.name, item.dtype, {}}, item.values};
    for (const auto& [placeholder, number] : numbers_) {
      ReplaceAll(tensor.spec.name, placeholder, number);
    }
    for (const Dimension& dimension : item.shape) {
      const absl::StatusOr<std::int64_t> size = Size(dimension);
      if (!size.ok()) return OfTensor(tensor.spec.name, size.status());
      tensor.spec.shape.push_back(*size);
    }
    if (const auto bytes = ByteCount(item.dtype, tensor.spec.shape); !bytes.ok()) {
      return OfTensor(tensor.spec.name, bytes.status());
    }
    if (!names_.insert(tensor.spec.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", Quoted(tensor.spec.name), " comes twice"));
    }
    tensors_.push_back(std::move(tensor));
    return absl::OkStatus();
  }

  absl::StatusOr<std::int64_t> Size(const Dimension& dimension) const {
    std::int64_t result = 1;
    for (const Factor& factor : dimension) {
      const std::int64_t value =
          factor.size.empty() ? factor.number : sizes_.find(factor.size)->second;
      if (factor.divides) {
        if (value == 0 || result % value != 0) {
          return absl::InvalidArgumentError(absl::StrCat(
              result, " does not divide by ", value, factor.size.empty() ? "" : " ", factor.size));
        }
        result /= value;
      } else if (value != 0 && result > std::numeric_limits<std::int64_t>::max() / value) {
        return absl::InvalidArgumentError(
            absl::StrCat("size ", factor.size, " = ", value, " makes a dimension past 2^63"));
      } else {
        result *= value;
      }
    }
    return result;
  }

  const std::map<std::string, std::int64_t>& sizes_;
  std::optional<std::int64_t> layers_;
  std::vector<std::pair<std::string, std::string>> numbers_;  // placeholder, what it stands for
  std::set<std::string> names_;
  std::vector<SyntheticTensor> tensors_;
};

absl::StatusOr<SyntheticModel> SyntheticModel::Parse(std::string_view text,
                                                     std::string_view origin) {
  const absl::StatusOr<Json> json = ParseStrictJson(text, origin);
  if (!json.ok()) return json.status();
  RecipeObject object(*json, std::string(origin));
  SyntheticModel model;
  model.name_ = object.Text("name", true);
  model.about_ = object.Text("about", false);
  model.recipe_ = object.Text("recipe", false);
  if (const Json* const metadata = object.Find("metadata")) {
    if (!metadata->is_object()) object.Fail("\"metadata\" has to be an object of texts");
    for (const auto& [key, value] : metadata->items()) {
      if (value.is_string()) {
        model.metadata_[key] = value.get<std::string>();
      } else {
        object.Fail(absl::StrCat("metadata ", Quoted(key), " is not a text"));
      }
    }
  }
  if (const Json* const sizes = object.Find("sizes")) {
    if (!sizes->is_object()) object.Fail("\"sizes\" has to be an object of numbers");
    for (const auto& [key, value] : sizes->items()) {
      if (value.is_number_unsigned() && value.get<std::uint64_t>() > 0 &&
          value.get<std::uint64_t>() < (std::uint64_t{1} << 32)) {
        model.sizes_[key] = value.get<std::int64_t>();
      } else {
        object.Fail(absl::StrCat("size ", Quoted(key), " has to be an integer from 1"));
      }
    }
  }
  const Json* const items = object.Need("items");
  if (absl::Status status = object.Done(); !status.ok()) return status;
  absl::StatusOr<std::vector<Item>> read =
      Reader(model.sizes_).Items(items, absl::StrCat(AbslView(origin)));
  if (!read.ok()) return read.status();
  model.items_ = *std::move(read);
  return model;
}

absl::StatusOr<SyntheticModel> SyntheticModel::FromFile(const std::string& path) {
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  return Parse({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()}, path);
}

absl::StatusOr<std::vector<SyntheticModel>> SyntheticModel::BuiltIn() {
  std::vector<SyntheticModel> models;
  for (const std::string_view text : kBuiltInTexts) {
    absl::StatusOr<SyntheticModel> model =
        Parse(text, absl::StrCat("built-in model number ", models.size() + 1));
    if (!model.ok()) return model.status();
    models.push_back(*std::move(model));
  }
  std::sort(models.begin(), models.end(),
            [](const SyntheticModel& a, const SyntheticModel& b) { return a.name() < b.name(); });
  return models;
}

absl::StatusOr<std::vector<SyntheticTensor>> SyntheticModel::Tensors(
    const ModelChanges& changes) const {
  std::map<std::string, std::int64_t> sizes = sizes_;
  const auto refuse = [&](const auto&... words) {
    return absl::InvalidArgumentError(absl::StrCat("model ", name_, ": ", words...));
  };
  for (const auto& [name, size] : changes.sizes) {
    const auto found = sizes.find(name);
    if (found == sizes.end()) {
      std::string names;
      for (const auto& [known, value] : sizes_) {
        absl::StrAppend(&names, names.empty() ? "" : ", ", known, " = ", value);
      }
      return refuse("there is no size ", Quoted(name), "; there are ", names);
    }
    if (size < 1 || size >= (std::int64_t{1} << 32)) {
      return refuse("size ", name, " = ", size, ", expected one from 1");
    }
    found->second = size;
  }
  if (changes.layers.value_or(1) < 1) return refuse("expected at least one layer");
  if (changes.experts.has_value()) {
    const auto found = sizes.find(kExpertsSize);
    if (found == sizes.end()) return refuse("it has no experts to limit");
    if (*changes.experts < 1) return refuse("expected at least one expert");
    found->second = std::min(found->second, *changes.experts);
  }
  Expander expander(sizes, changes.layers);
  if (absl::Status status = expander.Add(items_); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat("model ", name_, ": ", status.message()));
  }
  return expander.Take();
}

}  // namespace lanewise
