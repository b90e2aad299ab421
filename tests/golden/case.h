#ifndef LANEWISE_TESTS_GOLDEN_CASE_H_
#define LANEWISE_TESTS_GOLDEN_CASE_H_

// One golden case as an operation sees it: named input tensors and arguments in, named tensors and
// counts out.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/safetensors/dtype.h"
#include "nlohmann/json_fwd.hpp"

namespace lanewise::golden {

// A tensor in a mapped file. The bytes are row-major and not aligned.
struct TensorView {
  DType dtype = DType::kU8;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
};

// A tensor that an operation made. The dtype says how it is compared: floats as numbers (zeros are
// equal whatever their sign, a NaN equals a NaN), anything else bit for bit. So an operation that
// only moves bits says U8, U16, ..., one that computes says F32, BF16, F8_E4M3, ...: the width has
// to be that of the expected tensor, the name need not.
struct OutputTensor {
  DType dtype = DType::kU8;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

struct Results {
  std::map<std::string, OutputTensor> tensors;
  // Numbers that the operation reports; each must equal the case's argument of that name,
  // if it has one.
  std::map<std::string, std::int64_t> counts;
};

class Case {
 public:
  // `args` is a JSON object.
  Case(std::int64_t index, std::string op, const nlohmann::json& args,
       std::map<std::string, TensorView> inputs, std::map<std::string, TensorView> outputs);

  // The place in the manifest's list, from 0.
  std::int64_t index() const { return index_; }
  const std::string& op() const { return op_; }
  // A JSON object, empty if the manifest has none. Include nlohmann/json.hpp to look into it; the
  // functions below do not need that.
  const nlohmann::json& args() const { return *args_; }
  const std::map<std::string, TensorView>& inputs() const { return inputs_; }
  // What is expected.
  const std::map<std::string, TensorView>& outputs() const { return outputs_; }

  bool HasInput(std::string_view role) const;
  // The input of that role, or NotFound.
  absl::StatusOr<TensorView> Input(std::string_view role) const;

  // An argument, or InvalidArgument if it is missing or of another type.
  absl::StatusOr<std::int64_t> IntArg(std::string_view name) const;
  absl::StatusOr<bool> BoolArg(std::string_view name) const;
  absl::StatusOr<std::string> TextArg(std::string_view name) const;
  // The same with a value for where it is missing.
  absl::StatusOr<std::int64_t> IntArg(std::string_view name, std::int64_t missing) const;
  absl::StatusOr<bool> BoolArg(std::string_view name, bool missing) const;

 private:
  std::int64_t index_;
  std::string op_;
  std::shared_ptr<const nlohmann::json> args_;
  std::map<std::string, TensorView> inputs_;
  std::map<std::string, TensorView> outputs_;
};

}  // namespace lanewise::golden

#endif  // LANEWISE_TESTS_GOLDEN_CASE_H_
