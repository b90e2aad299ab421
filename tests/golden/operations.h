#ifndef LANEWISE_TESTS_GOLDEN_OPERATIONS_H_
#define LANEWISE_TESTS_GOLDEN_OPERATIONS_H_

// The table of operations that golden cases name, and who implements them.
//
// To add operations: write ops_NAME.cc with a function that adds them, declare it in ops.h, call it
// in operations.cc (a line each) and list the file in BUILD.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/golden/case.h"

namespace lanewise::golden {

// The implementations by name, as a failure or a test's name shows them.
inline constexpr std::string_view kReference = "reference";
inline constexpr std::string_view kWeights = "weights";

// Computes a case's outputs from its inputs and arguments, or refuses it with a Status.
using Operation = std::function<absl::StatusOr<Results>(const Case&)>;

class OperationTable {
 public:
  // The table of all operations there are.
  static const OperationTable& Get();

  // Adds an implementation of `op`. The last one of the same name counts.
  void Add(std::string_view op, std::string_view implementation, Operation operation);

  // The implementation that runs a case of that op, or null. A case "NAME.refuse" is run by "NAME".
  const Operation* Find(std::string_view op, std::string_view implementation) const;

  // The implementations that a case of that op has to pass in: those in the table and those that
  // there must be. Every operation must be in reference/, and one that prepares weights
  // in weights/ too.
  std::vector<std::string> Implementations(std::string_view op) const;

  // Every operation that there is, by name.
  std::vector<std::string> Names() const;

 private:
  std::map<std::string, std::map<std::string, Operation>> operations_;
};

// Whether a case of this op has to be refused: "NAME.refuse".
bool IsRefusal(std::string_view op);

}  // namespace lanewise::golden

#endif  // LANEWISE_TESTS_GOLDEN_OPERATIONS_H_
