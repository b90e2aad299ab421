// gfx942's matrix instructions in reference/matrix_core/.

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/instruction.h"
#include "reference/tensor.h"
#include "tests/golden/ops.h"
#include "tests/golden/tensors.h"

namespace lanewise::golden {
namespace {

absl::StatusOr<TensorView> Operand(const Case& golden_case, std::string_view role,
                                   OperandFormat format, std::int64_t rows, std::int64_t columns) {
  absl::StatusOr<TensorView> view = golden_case.Input(role);
  if (!view.ok()) return view.status();
  const auto bytes = static_cast<std::size_t>(rows * columns * ElementBytes(format));
  if (view->shape != std::vector<std::int64_t>{rows, columns} || view->bytes.size() != bytes) {
    return InvalidArgument("'", role, "' has ", view->bytes.size(), " bytes, expected [", rows,
                           ", ", columns, "] of ", ElementBytes(format), " bytes an element");
  }
  return view;
}

// A [m, k] and B [k, n] in raw bits, C and D [m, n] in float32's.
absl::StatusOr<Results> Mfma(const MatrixInstruction& instruction, const Case& golden_case) {
  const int m = instruction.m;
  const int n = instruction.n;
  LANEWISE_ASSIGN_OR_RETURN(TensorView a,
                            Operand(golden_case, "A", instruction.a, m, instruction.k));
  LANEWISE_ASSIGN_OR_RETURN(TensorView b,
                            Operand(golden_case, "B", instruction.b, instruction.k, n));
  LANEWISE_ASSIGN_OR_RETURN(auto c, InputTensor<std::uint32_t, 2>(golden_case, "C"));
  if (c.dimension(0) != m || c.dimension(1) != n) {
    return InvalidArgument("'C' is ", ShapeText(c), ", expected [", m, ", ", n, "]");
  }
  Tensor<std::uint32_t, 2> d(m, n);
  cdna3::Execute(instruction, a.bytes.data(), b.bytes.data(), c.data(), d.data());
  Results results;
  results.tensors["D"] = ToOutput(d);
  // Compared as numbers: the vectors do not say the sign of a zero.
  results.tensors["D"].dtype = DType::kF32;
  return results;
}

}  // namespace

void AddMfma(OperationTable& table) {
  for (const MatrixInstruction& instruction : cdna3::kInstructions) {
    table.Add(instruction.name, kReference,
              [&instruction](const Case& golden_case) { return Mfma(instruction, golden_case); });
  }
}

}  // namespace lanewise::golden
