// What is timed: a copy, and each kind of kernel of hip/common on a large matrix.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "benchmarks/device_time/device_time.h"
#include "hip/common/drop_negative_zero.h"
#include "hip/common/layout_copy.h"
#include "hip/common/mx_dequantize.h"
#include "hip/common/mx_quantize.h"
#include "hip/common/permute_q.h"
#include "hip/runtime/buffer.h"

namespace lanewise::benchmarks {
namespace {

using hip::Buffer;

constexpr int64_t kColumns = 5120;

// Device memory full of random bytes; the same 16 MiB again and again.
absl::StatusOr<Buffer> Random(int64_t bytes, std::string_view name) {
  constexpr int64_t kPiece = int64_t{16} << 20;
  std::mt19937_64 random(1);
  std::vector<uint64_t> piece(static_cast<size_t>(std::min(kPiece, bytes + 7) / 8));
  for (uint64_t& each : piece) each = random();
  absl::StatusOr<Buffer> buffer = Buffer::Allocate(bytes, name);
  if (!buffer.ok()) return buffer;
  const hip::Stream stream = hip::Stream::Default();
  for (int64_t at = 0; at < bytes; at += kPiece) {
    LANEWISE_RETURN_IF_ERROR(
        buffer->CopyFromAsync(piece.data(), at, std::min(kPiece, bytes - at), stream));
  }
  LANEWISE_RETURN_IF_ERROR(stream.Synchronize());
  return buffer;
}

int64_t Bytes(const absl::StatusOr<hip::LaunchCost>& cost) {
  return cost.ok() ? cost->TotalBytes() : 0;
}

// A launcher with its memory, so that work may keep both.
template <class Launcher>
struct Loaded {
  Launcher launcher;
  Buffer in, more, out;
};

// Loads the launcher, makes `in` and `more` of random bytes, allocates `out`; `launch` is the work.
template <class Launcher, class Launch>
absl::StatusOr<Work> Prepare(const hip::Device& device, int64_t in_bytes, int64_t more_bytes,
                             int64_t out_bytes, Launch launch) {
  LANEWISE_ASSIGN_OR_RETURN(Launcher launcher, Launcher::Load(device));
  LANEWISE_ASSIGN_OR_RETURN(Buffer in, Random(in_bytes, "in"));
  LANEWISE_ASSIGN_OR_RETURN(Buffer more, Random(more_bytes, "more"));
  LANEWISE_ASSIGN_OR_RETURN(Buffer out, Buffer::Allocate(out_bytes, "out"));
  const auto loaded = std::make_shared<Loaded<Launcher>>(
      Loaded<Launcher>{std::move(launcher), std::move(in), std::move(more), std::move(out)});
  return Work([loaded, launch](const hip::Stream& stream) {
    return launch(loaded->launcher, loaded->in.data(), loaded->more.data(), loaded->out.data(),
                  stream);
  });
}

TimedCase CopyCase(int64_t bytes) {
  return {"copy", absl::StrCat(bytes, " bytes"), 2 * bytes,
          [bytes](const hip::Device& device) -> absl::StatusOr<Work> {
            LANEWISE_RETURN_IF_ERROR(device.MakeCurrent());
            LANEWISE_ASSIGN_OR_RETURN(Buffer in, Random(bytes, "in"));
            LANEWISE_ASSIGN_OR_RETURN(Buffer out, Buffer::Allocate(bytes, "out"));
            const auto from = std::make_shared<Buffer>(std::move(in));
            const auto to = std::make_shared<Buffer>(std::move(out));
            return Work(
                [from, to](const hip::Stream& stream) { return to->CopyFromAsync(*from, stream); });
          }};
}

TimedCase QuantizeCase(FloatType input, ElementFormat format, const char* name, float maximum,
                       int64_t rows) {
  const hip::MxQuantize::Problem problem = {.input = input,
                                            .format = format,
                                            .quantizer = {.maximum = maximum},
                                            .rows = rows,
                                            .columns = kColumns};
  const char* const type = input == FloatType::kBf16 ? "bf16 " : "f32 ";
  return {absl::StrCat("quantize ", name), absl::StrCat(type, rows, " x ", kColumns),
          Bytes(hip::MxQuantize::Cost(problem)), [problem](const hip::Device& device) {
            const int64_t elements = problem.rows * problem.columns;
            return Prepare<hip::MxQuantize>(
                device, elements * FloatBytes(problem.input), elements / 32, elements,
                [problem](const hip::MxQuantize& quantize, void* x, void* codes, void* out,
                          const hip::Stream& stream) {
                  return quantize.Launch(problem, {x, out, codes}, stream);
                });
          }};
}

TimedCase DequantizeCase(ElementFormat format, const char* name, int64_t rows) {
  const hip::MxDequantize::Problem problem = {.format = format, .rows = rows, .columns = kColumns};
  return {absl::StrCat("dequantize ", name), absl::StrCat(rows, " x ", kColumns, " to bf16"),
          Bytes(hip::MxDequantize::Cost(problem)), [problem](const hip::Device& device) {
            const int64_t elements = problem.rows * problem.columns;
            return Prepare<hip::MxDequantize>(
                device, problem.format == ElementFormat::kE2m1 ? elements / 2 : elements,
                elements / 32, elements * 2,
                [problem](const hip::MxDequantize& dequantize, void* in, void* codes, void* out,
                          const hip::Stream& stream) {
                  return dequantize.Launch(problem, {in, codes, out}, stream);
                });
          }};
}

TimedCase LayoutCase(std::string_view tag, int64_t parameter, std::vector<int64_t> extents,
                     bool pack) {
  const hip::LayoutCopy::Problem problem = {
      .tag = tag,
      .parameter = parameter,
      .extents = std::move(extents),
      .direction = pack ? hip::LayoutCopy::Direction::kPack : hip::LayoutCopy::Direction::kUnpack};
  int64_t units = 1;
  for (const int64_t extent : problem.extents) units *= extent;
  return {absl::StrCat(pack ? "pack " : "unpack ", AbslView(tag)),
          absl::StrCat(problem.extents[0], " x ", problem.extents[1]),
          Bytes(hip::LayoutCopy::Cost(problem)), [problem, units](const hip::Device& device) {
            return Prepare<hip::LayoutCopy>(
                device, units, 0, units,
                [problem](const hip::LayoutCopy& copy, void* in, void*, void* out,
                          const hip::Stream& stream) {
                  const bool packs = problem.direction == hip::LayoutCopy::Direction::kPack;
                  return copy.Launch(
                      problem, {.logical = packs ? in : out, .memory = packs ? out : in}, stream);
                });
          }};
}

// The first launch drops every -0, so that the launches which are timed only read.
TimedCase NegativeZeroCase(hip::DropNegativeZero::Elements elements, const char* name,
                           int64_t bytes) {
  const hip::DropNegativeZero::Problem problem = {.elements = elements, .bytes = bytes};
  return {absl::StrCat("find negative zero ", name), absl::StrCat(bytes, " bytes, none left"),
          bytes, [problem](const hip::Device& device) {
            return Prepare<hip::DropNegativeZero>(
                device, problem.bytes, 8, 0,
                [problem](const hip::DropNegativeZero& drop, void* in, void* count, void*,
                          const hip::Stream& stream) {
                  return drop.Launch(problem, {in, static_cast<uint64_t*>(count)}, stream);
                });
          }};
}

TimedCase PermuteCase(int64_t tokens) {
  const hip::PermuteQ::Problem problem = {.tokens = tokens, .heads = 32};
  return {"permute_q_to_fused", absl::StrCat("bf16 ", tokens, " x 32 x 512"),
          Bytes(hip::PermuteQ::Cost(problem)), [problem](const hip::Device& device) {
            const int64_t bytes = problem.tokens * problem.heads * problem.head_dim * 2;
            return Prepare<hip::PermuteQ>(device, bytes, 0, bytes,
                                          [problem](const hip::PermuteQ& permute, void* in, void*,
                                                    void* out, const hip::Stream& stream) {
                                            return permute.Launch(problem, {in, out}, stream);
                                          });
          }};
}

}  // namespace

std::vector<TimedCase> TimedCases(int64_t rows) {
  using Elements = hip::DropNegativeZero::Elements;
  constexpr auto kBf16 = FloatType::kBf16;
  const int64_t bytes = rows * kColumns;
  std::vector<TimedCase> cases = {
      CopyCase(bytes),
      QuantizeCase(kBf16, ElementFormat::kE4m3Fnuz, "e4m3fnuz", 224, rows),
      QuantizeCase(kBf16, ElementFormat::kE4m3Fn, "e4m3fn", 448, rows),
      QuantizeCase(kBf16, ElementFormat::kE2m1, "e2m1", 6, rows),
      QuantizeCase(FloatType::kF32, ElementFormat::kE4m3Fn, "e4m3fn", 448, rows),
      DequantizeCase(ElementFormat::kE4m3Fnuz, "e4m3fnuz", rows),
      DequantizeCase(ElementFormat::kE4m3Fn, "e4m3fn", rows),
      DequantizeCase(ElementFormat::kE2m1, "e2m1", rows),
  };
  for (const bool pack : {true, false}) {
    cases.push_back(LayoutCase("gfx942/dense", 0, {rows, kColumns}, pack));
    cases.push_back(LayoutCase("gfx942/fp4_tile_major", 0, {rows, kColumns}, pack));
    cases.push_back(LayoutCase("aiter/shuffle_weight_16x16", 0, {rows, kColumns}, pack));
  }
  cases.push_back(PermuteCase(rows / 8));
  cases.push_back(NegativeZeroCase(Elements::kE4m3, "e4m3", bytes));
  cases.push_back(NegativeZeroCase(Elements::kE2m1, "e2m1", bytes));
  return cases;
}

}  // namespace lanewise::benchmarks
