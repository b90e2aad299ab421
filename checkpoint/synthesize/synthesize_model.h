#ifndef LANEWISE_CHECKPOINT_SYNTHESIZE_SYNTHESIZE_MODEL_H_
#define LANEWISE_CHECKPOINT_SYNTHESIZE_SYNTHESIZE_MODEL_H_

// The tensors of a model: names, dtypes and shapes, from a table in JSON. The tables in models/ are
// built in; docs/synthesize.md describes the format.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/safetensors/tensor_info.h"
#include "checkpoint/synthesize/synthesize_values.h"

namespace lanewise {

struct SyntheticTensor {
  TensorSpec spec;
  SyntheticValues values = SyntheticValues::kE2m1;
};

// What is to be other than in the table.
struct ModelChanges {
  std::optional<std::int64_t> layers = {};         // at most so many of each kind of layer
  std::optional<std::int64_t> experts = {};        // at most so many
  std::map<std::string, std::int64_t> sizes = {};  // sizes of the table by name
};

class SyntheticModel {
 public:
  // Strict: refuses fields that are not known, names of sizes and placeholders that are not there,
  // and values that their dtype cannot hold. `origin` heads the messages.
  static absl::StatusOr<SyntheticModel> Parse(std::string_view json, std::string_view origin);
  static absl::StatusOr<SyntheticModel> FromFile(const std::string& path);

  // The built-in ones, by name in alphabetical order.
  static absl::StatusOr<std::vector<SyntheticModel>> BuiltIn();

  const std::string& name() const { return name_; }
  const std::string& about() const { return about_; }
  // The built-in recipe that prepares it.
  const std::string& recipe() const { return recipe_; }
  // Of each file, as the model's own files have it.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, std::int64_t>& sizes() const { return sizes_; }

  // All tensors, in the order of the table. Refuses a change of a size that the table does not
  // have, sizes below 1, a division that leaves a remainder, a name that comes twice and a shape
  // past 2^63 bytes.
  absl::StatusOr<std::vector<SyntheticTensor>> Tensors(const ModelChanges& changes) const;

 private:
  // A product and quotient of sizes and numbers, from left to right: "heads*head_dim/32".
  struct Factor {
    std::string size;         // or
    std::int64_t number = 1;  // where `size` is empty
    bool divides = false;
  };
  using Dimension = std::vector<Factor>;

  // A tensor, or where `each` is not empty items for each number from first to end - 1.
  struct Item {
    std::string name;
    DType dtype = DType::kU8;
    std::vector<Dimension> shape;
    SyntheticValues values = SyntheticValues::kE2m1;

    std::string each;
    Dimension first, end;
    std::vector<Item> items;
  };

  class Reader;
  class Expander;

  std::string name_, about_, recipe_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, std::int64_t> sizes_;
  std::vector<Item> items_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SYNTHESIZE_SYNTHESIZE_MODEL_H_
