#include "hip/gfx942/dense_gemv.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "hip/common/alignment.h"
#include "hip/common/check_swiglu.h"
#include "hip/gfx942/dense_gemv_arguments.h"
#include "hip/gfx942/dense_gemv_kernels.h"

namespace lanewise::hip::gfx942 {
namespace {

constexpr int64_t kBlock = 32;
constexpr int64_t kStepColumns = 128;
constexpr int64_t kMostSplits = 1024;
constexpr int64_t kMostGridRows = 65535;  // of the grid's y and z
// So that a tile's bytes, and a pass's, are counted in 31 bits.
constexpr int64_t kMostK = int64_t{1} << 26;
// So that the grid's work-items, 32 a row, are counted in 32 bits.
constexpr int64_t kMostN = int64_t{1} << 26;
// So that no address wraps.
constexpr int64_t kMostStride = int64_t{1} << 40;

constexpr std::string_view kDenseLayout = "gfx942/dense";
constexpr std::string_view kChunkQLayout = "gfx942/dense_chunk_q";
constexpr std::string_view kCodesLayout = "gfx942/dense_codes";

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t Steps(const DenseGemv::Problem& problem) { return CeilDivide(problem.k, kStepColumns); }
int64_t Splits(const DenseGemv::Problem& problem) {
  return problem.plan == DenseGemv::Plan::kSplit ? problem.splits : 1;
}

int64_t Columns(const DenseGemv::Problem& problem) {
  return problem.gated.has_value() ? 2 * problem.k : problem.groups * problem.k;
}

// Where the workspace's parts begin, and its end.
struct Workspace {
  int64_t codes;
  int64_t partials;
  int64_t bytes;
};

Workspace WorkspaceOf(const DenseGemv::Problem& problem) {
  const int64_t elements = problem.groups * problem.m * Steps(problem) * kStepColumns;
  Workspace at;
  at.codes = RoundUp(elements, kLineBytes);
  at.partials = at.codes + RoundUp(elements / kBlock, kLineBytes);
  at.bytes = at.partials;
  if (Splits(problem) > 1) at.bytes += Splits(problem) * problem.m * problem.n * 4;
  return at;
}

absl::Status Refuse(std::string_view what, int64_t found, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("dense_gemv: ", AbslView(what), " is ", found,
                                                 ", expected ", AbslView(expected)));
}

absl::Status CheckProblem(const DenseGemv::Problem& p) {
  if (p.w_layout != kDenseLayout && p.w_layout != kChunkQLayout) {
    return absl::InvalidArgumentError(
        absl::StrCat("dense_gemv: w is in layout \"", AbslView(p.w_layout), "\", expected ",
                     AbslView(kDenseLayout), " or ", AbslView(kChunkQLayout)));
  }
  if (p.codes_layout != kCodesLayout) {
    return absl::InvalidArgumentError(absl::StrCat("dense_gemv: w_codes are in layout \"",
                                                   AbslView(p.codes_layout), "\", expected ",
                                                   AbslView(kCodesLayout)));
  }
  if (p.plan != DenseGemv::Plan::kDense && p.plan != DenseGemv::Plan::kGrouped &&
      p.plan != DenseGemv::Plan::kSplit) {
    return Refuse("plan", static_cast<int64_t>(p.plan), "one of the three");
  }
  if (p.m < 0 || p.m > kMostGridRows) return Refuse("M", p.m, "0 to 65535 tokens");
  if (p.groups < 1 || p.groups > kMostGridRows) return Refuse("groups", p.groups, "1 to 65535");
  if (p.n < 0 || p.n > kMostN || p.n % (kTileRows * p.groups) != 0) {
    return Refuse(
        "N", p.n,
        absl::StrCat("a multiple of 16 rows for each of ", p.groups, " groups, up to 2^26"));
  }
  if (p.k < 0 || p.k > kMostK || p.k % kBlock != 0) {
    return Refuse("K", p.k, "a multiple of 32 up to 2^26");
  }
  if (p.splits < 1 || p.splits > kMostSplits) return Refuse("splits", p.splits, "1 to 1024");
  if (p.gated.has_value()) {
    if (p.groups != 1) return Refuse("groups", p.groups, "1 where x is gated");
    if (absl::Status status = CheckSwiglu("dense_gemv: gated", *p.gated); !status.ok()) {
      return status;
    }
  }
  if (p.out != FloatType::kBf16 && p.out != FloatType::kF32) {
    return InvalidArgument("dense_gemv: out is ", FloatTypeName(p.out), ", expected bf16 or f32");
  }
  if (p.x_stride != 0 &&
      (p.x_stride < Columns(p) || p.x_stride > kMostStride || p.x_stride % 8 != 0)) {
    return Refuse("x_stride", p.x_stride,
                  absl::StrCat("a multiple of 8 of at least ", Columns(p), " up to 2^40, or 0"));
  }
  if (p.out_stride != 0 && (p.out_stride < p.n || p.out_stride > kMostStride)) {
    return Refuse("out_stride", p.out_stride, absl::StrCat("at least ", p.n, " up to 2^40, or 0"));
  }
  return absl::OkStatus();
}

absl::Status CheckOperands(const DenseGemv::Problem& problem, const DenseGemv::Operands& operands) {
  const OperandPointer pointers[] = {
      {"dense_gemv: x", operands.x, 16, problem.k > 0},
      {"dense_gemv: w", operands.w, kLineBytes, problem.k > 0},
      {"dense_gemv: w_codes", operands.w_codes, 4, problem.k > 0},
      {"dense_gemv: out", operands.out, FloatBytes(problem.out)},
      {"dense_gemv: workspace", operands.workspace, kLineBytes, WorkspaceOf(problem).bytes > 0},
  };
  return CheckAligned(pointers);
}

DenseGemvArguments Arguments(const DenseGemv::Problem& p, const DenseGemv::Operands& operands) {
  const Workspace at = WorkspaceOf(p);
  auto* const workspace = static_cast<uint8_t*>(operands.workspace);
  const int64_t splits = Splits(p);
  DenseGemvArguments a = {};
  a.x = static_cast<const uint16_t*>(operands.x);
  a.w = static_cast<const uint8_t*>(operands.w);
  a.w_codes = static_cast<const uint8_t*>(operands.w_codes);
  a.out = operands.out;
  a.elements = workspace;
  if (p.k > 0) a.codes = workspace + at.codes;
  if (splits > 1) a.partials = reinterpret_cast<float*>(workspace + at.partials);
  a.x_stride = static_cast<uint64_t>(p.x_stride == 0 ? Columns(p) : p.x_stride);
  a.out_stride = static_cast<uint64_t>(p.out_stride == 0 ? p.n : p.out_stride);
  a.n = static_cast<uint32_t>(p.n);
  a.k = static_cast<uint32_t>(p.k);
  a.tokens = static_cast<uint32_t>(p.m);
  a.tiles = static_cast<uint32_t>(p.n / p.groups / kTileRows);
  a.steps = static_cast<uint32_t>(Steps(p));
  a.splits = static_cast<uint32_t>(splits);
  a.steps_per_split = static_cast<uint32_t>(CeilDivide(Steps(p), splits));
  a.contiguous = p.plan == DenseGemv::Plan::kGrouped ? 1 : 0;
  a.chunk_q = p.w_layout == kChunkQLayout ? 1 : 0;
  a.bf16_out = p.out == FloatType::kBf16 ? 1 : 0;
  if (p.gated.has_value()) a.swiglu = *p.gated;
  return a;
}

}  // namespace

absl::StatusOr<DenseGemv> DenseGemv::Load(const Device& device) {
  absl::StatusOr<Module> module = Module::Load(DenseGemvKernelsCodeObjects(), device);
  if (!module.ok()) return module.status();
  absl::StatusOr<Kernel> quantize = module->Find("QuantizeActivations");
  if (!quantize.ok()) return quantize.status();
  absl::StatusOr<Kernel> quantize_gated = module->Find("QuantizeGated");
  if (!quantize_gated.ok()) return quantize_gated.status();
  absl::StatusOr<Kernel> gemv8 = module->Find("DenseGemv8");
  if (!gemv8.ok()) return gemv8.status();
  absl::StatusOr<Kernel> gemv4 = module->Find("DenseGemv4");
  if (!gemv4.ok()) return gemv4.status();
  absl::StatusOr<Kernel> combine = module->Find("CombineSplits");
  if (!combine.ok()) return combine.status();
  return DenseGemv(*std::move(module), *std::move(quantize), *std::move(quantize_gated),
                   *std::move(gemv8), *std::move(gemv4), *std::move(combine));
}

absl::StatusOr<LaunchCost> DenseGemv::Cost(const Problem& problem) {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  LaunchCost cost;
  if (problem.m == 0 || problem.n == 0) return cost;
  const int64_t padded_k = Steps(problem) * kStepColumns;
  cost.weight_bytes = problem.n * padded_k + CeilDivide(problem.n, kBlock) * (padded_k / kBlock);
  cost.activation_bytes = problem.m * Columns(problem) * 2;
  cost.output_bytes = problem.m * problem.n * FloatBytes(problem.out);
  cost.workspace_bytes = WorkspaceOf(problem).bytes;
  cost.launches = (problem.k > 0 ? 2 : 1) + (Splits(problem) > 1 ? 1 : 0);
  return cost;
}

absl::StatusOr<int64_t> DenseGemv::WorkspaceBytes(const Problem& problem) {
  const absl::StatusOr<LaunchCost> cost = Cost(problem);
  if (!cost.ok()) return cost.status();
  return cost->workspace_bytes;
}

absl::Status DenseGemv::Check(const Problem& problem, const Operands& operands) {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  if (problem.m == 0 || problem.n == 0) return absl::OkStatus();
  return CheckOperands(problem, operands);
}

absl::Status DenseGemv::Launch(const Problem& problem, const Operands& operands,
                               const Stream& stream) const {
  if (absl::Status status = Check(problem, operands); !status.ok()) return status;
  if (problem.m == 0 || problem.n == 0) return absl::OkStatus();
  const DenseGemvArguments a = Arguments(problem, operands);
  const auto groups = static_cast<uint32_t>(problem.groups);
  if (problem.k > 0) {
    const uint32_t chunks = a.steps * (kStepColumns / 8);
    absl::Status status =
        (problem.gated.has_value() ? quantize_gated_ : quantize_)
            .Launch({.grid = {(chunks + 255) / 256, a.tokens, groups}, .block = {256}}, stream, a);
    if (!status.ok()) return status;
  }
  const bool grouped = problem.plan == Plan::kGrouped;
  const uint32_t workgroups = grouped ? (a.tiles + 1) / 2 : a.tiles;
  absl::Status status =
      (grouped ? gemv4_ : gemv8_)
          .Launch({.grid = {workgroups, groups, a.splits}, .block = {512}}, stream, a);
  if (!status.ok() || a.splits == 1) return status;
  return combine_.Launch({.grid = {(a.n + 255) / 256, a.tokens}, .block = {256}}, stream, a);
}

}  // namespace lanewise::hip::gfx942
