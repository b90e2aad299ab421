#include "tests/differential/operation.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "formats/registry.h"
#include "tests/differential/expression.h"

namespace lanewise::differential {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

std::map<std::string, Operation, std::less<>>& Registry() {
  static auto* const registry = new std::map<std::string, Operation, std::less<>>;
  return *registry;
}

[[noreturn]] void Die(std::string_view what, std::string_view name) {
  std::fprintf(stderr, "%.*s '%.*s'\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(name.size()), name.data());
  std::abort();
}

}  // namespace

std::string_view DataName(Data data) {
  switch (data) {
    case Data::kRandomBits:
      return "random bits";
    case Data::kAllCodes:
      return "all codes";
    case Data::kIota:
      return "iota";
    case Data::kNormal:
      return "normal";
    case Data::kSubnormals:
      return "subnormals";
    case Data::kNegativeZeros:
      return "negative zeros";
    case Data::kNan:
      return "NaN";
    case Data::kExtremeScales:
      return "extreme scales";
    case Data::kOneHot:
      return "one-hot";
    case Data::kCancellation:
      return "cancellation";
  }
  return "unknown";
}

std::optional<Data> FindData(std::string_view name) {
  for (const Data data : kAllData) {
    if (DataName(data) == name) return data;
  }
  return std::nullopt;
}

// A name that is not there is a mistake of the operation's entry, which no input can cause.
const Operand& Call::At(std::string_view name) const {
  for (const Operand& operand : operands) {
    if (operand.argument->name == name) return operand;
  }
  Die("the operation has no argument", name);
}

std::vector<const Operation*> Operations() {
  std::vector<const Operation*> operations;
  for (const auto& [name, operation] : Registry()) operations.push_back(&operation);
  return operations;
}

const Operation* FindOperation(std::string_view name) {
  const auto found = Registry().find(name);
  return found == Registry().end() ? nullptr : &found->second;
}

Registration::Registration(Operation operation) {
  std::string name = operation.name;
  if (!Registry().emplace(name, std::move(operation)).second) {
    Die("there is already an operation", name);
  }
}

int FormatBits(std::string_view format) {
  if (format == "u8") return 8;
  if (format == "u16") return 16;
  if (format == "u32" || format == "i32" || format == "f32") return 32;
  const FormatView* const view = FindFormat(format);
  if (view == nullptr) return 0;
  return view->bits <= 4 ? 4 : view->bits <= 8 ? 8 : 16;
}

absl::StatusOr<std::vector<Operand>> OperandsOf(const Operation& operation, const Shape& shape) {
  std::vector<Operand> operands;
  for (const Argument& argument : operation.arguments) {
    Operand operand;
    operand.argument = &argument;
    operand.elements = 1;
    for (const std::string& text : argument.extents) {
      const absl::StatusOr<std::int64_t> extent =
          Evaluate(text, [&](std::string_view name) { return shape.Find(name); });
      if (!extent.ok() || *extent < 0 || *extent > kMostElements) {
        return InvalidArgument(operation.name, ", argument ", argument.name, ", ", shape.Text(),
                               ": ",
                               extent.ok() ? absl::StrCat("an extent of ", *extent)
                                           : std::string(StdView(extent.status().message())));
      }
      operand.extents.push_back(*extent);
      // Both factors are at most 2^40, so that their product may pass 2^63.
      if (*extent > 0 && operand.elements > kMostElements / *extent) {
        return InvalidArgument(operation.name, ", argument ", argument.name, ", ", shape.Text(),
                               ": more than 2^40 elements");
      }
      operand.elements *= *extent;
    }
    const int bits = FormatBits(argument.format);
    if (bits == 0) {
      return InvalidArgument(operation.name, ", argument ", argument.name, ": there is no format '",
                             argument.format, "'");
    }
    operand.bytes = (operand.elements * bits + 7) / 8;
    operands.push_back(std::move(operand));
  }
  return operands;
}

}  // namespace lanewise::differential
