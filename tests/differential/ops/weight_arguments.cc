#include "tests/differential/ops/weight_arguments.h"

#include <cstdint>
#include <random>
#include <string_view>
#include <utility>

#include "tests/differential/data.h"

namespace lanewise::differential {
namespace {

// As the engine does where there is no generator.
void FillPlainly(Data data, const Call& call, std::string_view name, std::mt19937_64& random) {
  Operand operand = call.At(name);
  Argument argument = *operand.argument;
  argument.generate = {};
  operand.argument = &argument;
  Fill(data, operand, call, random);
}

}  // namespace

Argument PreparedFp4(const std::string& name, std::vector<std::string> extents) {
  const auto generate = [name](Data data, const Call& call, std::mt19937_64& random) {
    FillPlainly(data, call, name, random);
    const Operand& operand = call.At(name);
    for (std::int64_t i = 0; i < operand.elements; ++i) {
      if (GetBits(4, operand.data, i) == 8) SetBits(4, operand.data, i, 0);
    }
  };
  return {.name = name, .format = "e2m1", .extents = std::move(extents), .generate = generate};
}

Argument WeightCodes(const std::string& name, std::vector<std::string> extents, int lower,
                     int code_limit) {
  const auto generate = [name, lower](Data data, const Call& call, std::mt19937_64& random) {
    FillPlainly(data, call, name, random);
    if (data != Data::kNormal) return;
    for (std::uint8_t& code : call.Bytes(name)) code = static_cast<std::uint8_t>(code - lower);
  };
  return {.name = name,
          .format = "e8m0",
          .extents = std::move(extents),
          .code_limit = code_limit,
          .generate = generate};
}

}  // namespace lanewise::differential
