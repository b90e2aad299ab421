#include "hip/common/layout_copy.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "hip/common/alignment.h"
#include "hip/common/layout_kernels.h"
#include "hip/common/layout_move.h"
#include "layouts/bind.h"

namespace lanewise::hip {
namespace {

constexpr int64_t kItemsPerGroup = 256;
constexpr int64_t kMostUnits = int64_t{1} << 31;

// As the C++ ABI names MoveUnits<layout, remainder, pack>(LayoutMove).
std::string MoveKernelName(int layout, bool remainder, bool pack) {
  return absl::StrCat("_Z9MoveUnitsILi", layout, "ELb", remainder ? 1 : 0, "ELb", pack ? 1 : 0,
                      "EEvN8lanewise3hip10LayoutMoveE");
}

absl::StatusOr<int> IndexOf(std::string_view tag) {
  for (int i = 0; i < kMoveLayouts - 1; ++i) {
    if (MoveLayout(i).tag == tag) return i;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("layout copy: no layout \"", AbslView(tag), "\" in the catalogue"));
}

std::string_view ParameterOf(const Layout& layout) {
  for (int i = 0; i < layout.main.factors; ++i) {
    const Name& parameter = layout.main.factor[i].parameter;
    if (!parameter.empty()) return parameter.view();
  }
  return {};
}

absl::StatusOr<BoundLayout> BindProblem(const Layout& layout, const LayoutCopy::Problem& problem) {
  const std::string_view name = ParameterOf(layout);
  if (name.empty() != (problem.parameter == 0) || problem.parameter < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "layout ", AbslView(layout.tag), ": parameter is ", problem.parameter, ", expected ",
        name.empty() ? "0: it has none" : absl::StrCat("the size of ", AbslView(name))));
  }
  const int64_t unit = problem.unit_bytes;
  if (unit != 1 && unit != 2 && unit != 4 && unit != 8 && unit != 16) {
    return absl::InvalidArgumentError(absl::StrCat("layout ", AbslView(layout.tag), ": units of ",
                                                   unit, " bytes, expected 1, 2, 4, 8 or 16"));
  }
  if (problem.units_per_launch < 1 || problem.units_per_launch > kMostUnits) {
    return absl::InvalidArgumentError(
        absl::StrCat("layout ", AbslView(layout.tag), ": units_per_launch is ",
                     problem.units_per_launch, ", expected 1 to 2^31"));
  }
  absl::StatusOr<BoundLayout> bound =
      Bind(name.empty() ? layout : layout.WithParameter(name, problem.parameter), problem.extents);
  if (bound.ok() && bound->units() > (int64_t{1} << 58)) {
    return absl::InvalidArgumentError(absl::StrCat("layout ", AbslView(layout.tag), ": ",
                                                   bound->units(), " units, expected up to 2^58"));
  }
  return bound;
}

}  // namespace

absl::StatusOr<LayoutCopy> LayoutCopy::Load(const Device& device) {
  absl::StatusOr<Module> module = Module::Load(LayoutKernelsCodeObjects(), device);
  if (!module.ok()) return module.status();
  std::vector<Kernels> kernels(kMoveLayouts);
  for (int i = 0; i < kMoveLayouts; ++i) {
    if (KernelLayout(i) != i) continue;
    for (const bool remainder : {false, true}) {
      if (remainder && !MoveLayout(i).HasRemainder()) continue;
      for (const bool pack : {true, false}) {
        absl::StatusOr<Kernel> kernel = module->Find(MoveKernelName(i, remainder, pack));
        if (!kernel.ok()) return kernel.status();
        std::vector<Kernel>& list = remainder ? kernels[static_cast<size_t>(i)].remainder
                                              : kernels[static_cast<size_t>(i)].main;
        list.push_back(*std::move(kernel));
      }
    }
  }
  return LayoutCopy(*std::move(module), std::move(kernels));
}

absl::StatusOr<std::vector<PlannedMove>> LayoutCopy::Plan(int index, const Problem& problem,
                                                          const Operands& operands) {
  const Layout& layout = MoveLayout(index);
  const absl::StatusOr<BoundLayout> bound = BindProblem(layout, problem);
  if (!bound.ok()) return bound.status();
  if (bound->units() == 0) return std::vector<PlannedMove>();
  const auto operand = [&](const char* name) {
    return absl::StrCat("layout ", AbslView(layout.tag), ": ", name);
  };
  absl::Status status = CheckAligned(operand("logical"), operands.logical, problem.unit_bytes);
  if (!status.ok()) return status;
  status = CheckAligned(operand("memory"), operands.memory, 16);
  if (!status.ok()) return status;
  return PlanMoves(layout, *bound, problem.unit_bytes, static_cast<uint8_t*>(operands.logical),
                   static_cast<uint8_t*>(operands.memory), problem.units_per_launch);
}

absl::StatusOr<LaunchCost> LayoutCopy::CostOf(int index, const Problem& problem) {
  // Pointers matter to the widths only.
  void* const aligned = reinterpret_cast<void*>(uintptr_t{1} << 20);
  const absl::StatusOr<std::vector<PlannedMove>> moves = Plan(index, problem, {aligned, aligned});
  if (!moves.ok()) return moves.status();
  LaunchCost cost;
  for (const PlannedMove& each : *moves) {
    cost.activation_bytes += int64_t{each.move.units} * problem.unit_bytes;
    ++cost.launches;
  }
  cost.output_bytes = cost.activation_bytes;
  return cost;
}

absl::StatusOr<LaunchCost> LayoutCopy::Cost(const Problem& problem) {
  const absl::StatusOr<int> index = IndexOf(problem.tag);
  if (!index.ok()) return index.status();
  return CostOf(*index, problem);
}

absl::Status LayoutCopy::Launch(const Problem& problem, const Operands& operands,
                                const Stream& stream) const {
  const absl::StatusOr<int> index = IndexOf(problem.tag);
  if (!index.ok()) return index.status();
  return LaunchLayout(*index, problem, operands, stream);
}

absl::Status LayoutCopy::LaunchLayout(int index, const Problem& problem, const Operands& operands,
                                      const Stream& stream) const {
  const absl::StatusOr<std::vector<PlannedMove>> moves = Plan(index, problem, operands);
  if (!moves.ok()) return moves.status();
  const Kernels& kernels = kernels_[static_cast<size_t>(KernelLayout(index))];
  const size_t direction = problem.direction == Direction::kPack ? 0 : 1;
  for (const PlannedMove& each : *moves) {
    const Kernel& kernel = (each.remainder ? kernels.remainder : kernels.main)[direction];
    const auto groups = static_cast<uint32_t>((each.items + kItemsPerGroup - 1) / kItemsPerGroup);
    absl::Status status =
        kernel.Launch({.grid = {groups}, .block = {kItemsPerGroup}}, stream, each.move);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lanewise::hip
