#include "tests/golden/case.h"

#include "absl/status/status.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace lanewise::golden {
namespace {

absl::Status BadArg(const nlohmann::json& args, std::string_view name, const char* type) {
  return InvalidArgument("the argument '", name, "' of ", args.dump(), " is missing or not ", type);
}

}  // namespace

Case::Case(std::int64_t index, std::string op, const nlohmann::json& args,
           std::map<std::string, TensorView> inputs, std::map<std::string, TensorView> outputs)
    : index_(index),
      op_(std::move(op)),
      args_(std::make_shared<const nlohmann::json>(args)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)) {}

bool Case::HasInput(std::string_view role) const { return inputs_.count(std::string(role)) != 0; }

absl::StatusOr<TensorView> Case::Input(std::string_view role) const {
  const auto found = inputs_.find(std::string(role));
  if (found != inputs_.end()) return found->second;
  return NotFound("the case has no input '", role, "'");
}

absl::StatusOr<std::int64_t> Case::IntArg(std::string_view name) const {
  const auto found = args_->find(std::string(name));
  if (found == args_->end() || !found->is_number_integer()) {
    return BadArg(*args_, name, "an integer");
  }
  return found->get<std::int64_t>();
}

absl::StatusOr<bool> Case::BoolArg(std::string_view name) const {
  const auto found = args_->find(std::string(name));
  if (found == args_->end() || !found->is_boolean()) return BadArg(*args_, name, "true or false");
  return found->get<bool>();
}

absl::StatusOr<std::string> Case::TextArg(std::string_view name) const {
  const auto found = args_->find(std::string(name));
  if (found == args_->end() || !found->is_string()) return BadArg(*args_, name, "a text");
  return found->get<std::string>();
}

absl::StatusOr<std::int64_t> Case::IntArg(std::string_view name, std::int64_t missing) const {
  return args_->contains(std::string(name)) ? IntArg(name) : missing;
}

absl::StatusOr<bool> Case::BoolArg(std::string_view name, bool missing) const {
  return args_->contains(std::string(name)) ? BoolArg(name) : missing;
}

}  // namespace lanewise::golden
