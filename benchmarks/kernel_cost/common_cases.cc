// Rows of hip/common's kernels that move, dequantize and rewrite weights.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "benchmarks/kernel_cost/cases.h"
#include "hip/common/drop_negative_zero.h"
#include "hip/common/layout_copy.h"
#include "hip/common/mx_dequantize.h"
#include "hip/common/permute_q.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/stream.h"

namespace lanewise::benchmarks {
namespace {

using hip::Buffer;
using hip::DropNegativeZero;
using hip::LayoutCopy;
using hip::MxDequantize;
using hip::PermuteQ;

// Bytes that count up; each kernel's work is the same whatever they are, but for the writes of -0.
absl::StatusOr<Buffer> Counting(int64_t bytes, std::string_view name) {
  std::vector<uint8_t> values(static_cast<size_t>(bytes));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i);
  return Buffer::Of(std::span<const uint8_t>(values), name);
}

// A launcher's cost for a problem that is right by construction.
hip::LaunchCost Good(const absl::StatusOr<hip::LaunchCost>& cost) {
  return cost.ok() ? *cost : hip::LaunchCost();
}

// Loads the launcher, allocates `in`, `out` and perhaps `more` bytes, and calls `launch`.
template <class Launcher, class Launch>
absl::Status Run(const hip::Device& device, int64_t in_bytes, const char* in_name, int64_t more,
                 const char* more_name, int64_t out_bytes, Launch launch) {
  LANEWISE_ASSIGN_OR_RETURN(const Launcher launcher, Launcher::Load(device));
  LANEWISE_ASSIGN_OR_RETURN(const Buffer in, Counting(in_bytes, in_name));
  LANEWISE_ASSIGN_OR_RETURN(const Buffer second, Counting(more, more_name));
  LANEWISE_ASSIGN_OR_RETURN(const Buffer out, Buffer::Allocate(out_bytes, "out"));
  const hip::Stream stream = hip::Stream::Default();
  absl::Status status = launch(launcher, in.data(), second.data(), out.data(), stream);
  return status.ok() ? stream.Synchronize() : status;
}

CostCase LayoutCase(std::string_view tag, int64_t parameter, std::vector<int64_t> extents,
                    bool pack, bool small) {
  const LayoutCopy::Problem problem = {
      .tag = tag,
      .parameter = parameter,
      .extents = std::move(extents),
      .direction = pack ? LayoutCopy::Direction::kPack : LayoutCopy::Direction::kUnpack};
  CostCase each;
  each.kernel = absl::StrCat(pack ? "pack " : "unpack ", AbslView(tag));
  each.shape = absl::StrCat(problem.extents[0], " x ", problem.extents[1]);
  each.small = small;
  each.cost = Good(LayoutCopy::Cost(problem));
  // The row-major side is read in pieces: one line by several instructions.
  each.lines_once = !pack;
  each.run = [problem, pack](const hip::Device& device) {
    const int64_t bytes = problem.extents[0] * problem.extents[1];
    return Run<LayoutCopy>(
        device, bytes, "in", 0, "nothing", bytes,
        [&](const LayoutCopy& copy, void* in, void*, void* out, const hip::Stream& stream) {
          return copy.Launch(problem, {.logical = pack ? in : out, .memory = pack ? out : in},
                             stream);
        });
  };
  return each;
}

CostCase DequantizeCase(ElementFormat format, const char* name, int64_t rows, int64_t columns,
                        bool small) {
  const MxDequantize::Problem problem = {.format = format, .rows = rows, .columns = columns};
  CostCase each;
  each.kernel = absl::StrCat("dequantize ", name);
  each.shape = absl::StrCat(rows, " x ", columns, " to bf16");
  each.small = small;
  each.cost = Good(MxDequantize::Cost(problem));
  each.run = [problem](const hip::Device& device) {
    const int64_t elements = problem.rows * problem.columns;
    return Run<MxDequantize>(device,
                             problem.format == ElementFormat::kE2m1 ? elements / 2 : elements,
                             "weights", elements / 32, "weight codes", elements * 2,
                             [&](const MxDequantize& dequantize, void* in, void* codes, void* out,
                                 const hip::Stream& stream) {
                               return dequantize.Launch(problem, {in, codes, out}, stream);
                             });
  };
  return each;
}

CostCase NegativeZeroCase(DropNegativeZero::Elements elements, const char* name, int64_t bytes,
                          bool small) {
  const DropNegativeZero::Problem problem = {.elements = elements, .bytes = bytes};
  CostCase each;
  each.kernel = absl::StrCat("drop negative zero ", name);
  each.shape = absl::StrCat(bytes, " bytes");
  each.small = small;
  each.cost = Good(DropNegativeZero::Cost(problem));
  each.run = [problem](const hip::Device& device) {
    return Run<DropNegativeZero>(
        device, problem.bytes, "weights", 8, "count", 0,
        [&](const DropNegativeZero& drop, void* in, void* count, void*, const hip::Stream& stream) {
          return drop.Launch(problem, {in, static_cast<uint64_t*>(count)}, stream);
        });
  };
  return each;
}

CostCase PermuteCase(int64_t tokens, int64_t heads, bool small) {
  const PermuteQ::Problem problem = {.tokens = tokens, .heads = heads};
  CostCase each;
  each.kernel = "permute_q_to_fused";
  each.shape = absl::StrCat("bf16 ", tokens, " x ", heads, " x 512");
  each.small = small;
  each.cost = Good(PermuteQ::Cost(problem));
  // Chunks are 32 bytes, a quarter of a line, and a token's neighbours are 512 elements apart.
  each.lines_once = false;
  each.run = [problem](const hip::Device& device) {
    const int64_t bytes = problem.tokens * problem.heads * 1024;
    return Run<PermuteQ>(
        device, bytes, "q", 0, "nothing", bytes,
        [&](const PermuteQ& permute, void* in, void*, void* out, const hip::Stream& stream) {
          return permute.Launch(problem, {in, out}, stream);
        });
  };
  return each;
}

}  // namespace

std::vector<CostCase> CommonCases() {
  std::vector<CostCase> cases;
  for (const bool small : {true, false}) {
    const int64_t rows = small ? 32 : 1152;
    const int64_t columns = small ? 640 : 5120;
    for (const bool pack : {true, false}) {
      cases.push_back(LayoutCase("gfx942/dense", 0, {rows, columns}, pack, small));
      cases.push_back(LayoutCase("gfx942/fp4_tile_major", 0, {rows, columns / 2}, pack, small));
      cases.push_back(
          LayoutCase("gfx942/codes_tile_rounds", small ? 4 : 8, {rows, columns / 32}, pack, small));
    }
    cases.push_back(DequantizeCase(ElementFormat::kE4m3Fn, "e4m3fn", rows, columns, small));
    cases.push_back(DequantizeCase(ElementFormat::kE4m3Fnuz, "e4m3fnuz", rows, columns, small));
    cases.push_back(DequantizeCase(ElementFormat::kE2m1, "e2m1", rows, columns, small));
    cases.push_back(
        NegativeZeroCase(DropNegativeZero::Elements::kE4m3, "e4m3", rows * columns, small));
    cases.push_back(
        NegativeZeroCase(DropNegativeZero::Elements::kE2m1, "e2m1", rows * columns / 2, small));
    cases.push_back(PermuteCase(small ? 1 : 16, small ? 8 : 32, small));
  }
  return cases;
}

}  // namespace lanewise::benchmarks
