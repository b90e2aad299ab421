// gfx950's scaled GEMMs as reference/ plans them, on the host: block and row scales, and those of
// the experts.

#include <algorithm>
#include <array>
#include <vector>

#include "reference/gfx950/block32_gemm.h"
#include "reference/gfx950/block32_selection.h"
#include "reference/gfx950/moe_semantics.h"
#include "reference/gfx950/row_scale_gemm.h"
#include "tests/differential/planned.h"

namespace lanewise::differential {
namespace {

namespace gfx950 = reference::gfx950;
using gfx950::Block32Config;
using gfx950::Block32Form;
using reference::MxMatrix;

// ---- 32 x 32 block scales ----

struct Named {
  const char* name;
  Block32Config config;
};
constexpr std::array<Named, 9> kConfigs = {{
    {"tiled", {Block32Form::kTiled, 64, 64, 256, 1, 1, false}},
    {"tiled_split3", {Block32Form::kTiled, 64, 64, 128, 1, 3, false}},
    {"packed1", {Block32Form::kPacked, 32, 32, 256, 1, 1, false}},
    {"packed2", {Block32Form::kPacked, 8, 16, 256, 2, 1, false}},
    {"packed4", {Block32Form::kPacked, 4, 16, 128, 4, 1, false}},
    {"packed4_split5", {Block32Form::kPacked, 4, 16, 128, 4, 5, true}},
    {"packed1_split5", {Block32Form::kPacked, 16, 64, 256, 1, 5, true}},
    {"packed2_split3", {Block32Form::kPacked, 8, 16, 1024, 2, 3, true}},
    // What the table chooses.
    {"selected", {}},
}};

Block32Config ConfigOf(const Call& call) {
  const Block32Config& config = kConfigs[static_cast<std::size_t>(call["config"])].config;
  return config.block_k > 0 ? config : gfx950::SelectBlock32(call["M"], call["N"], call["K"]);
}

// The kernel's own loops: programs of the split, steps, panels.
float Block32Loops(const Call& call, const AddBlock& add) {
  const Block32Config config = ConfigOf(call);
  const std::int64_t k = call["K"];
  const std::int64_t pack = config.form == Block32Form::kPacked ? config.pack : 1;
  const std::int64_t step = config.block_k * pack;
  std::int64_t size = (k + config.split - 1) / config.split;
  size = (size + step - 1) / step * step;
  const std::int64_t runs = (k + size - 1) / size;
  float combined = 0;
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::int64_t end = std::min(k, (run + 1) * size);
    std::vector<float> panels(static_cast<std::size_t>(pack), 0.0f);
    for (std::int64_t base = run * size; base < end; base += step) {
      for (std::int64_t p = 0; p < pack; ++p) {
        float& panel = panels[static_cast<std::size_t>(p)];
        const std::int64_t from = base + p * config.block_k;
        for (std::int64_t at = from; at < std::min(end, from + config.block_k); at += 32) {
          panel = add(panel, at / 32);
        }
      }
    }
    float sum = panels[0];
    if (pack == 2) sum = panels[0] + panels[1];
    if (pack == 4) sum = (panels[0] + panels[2]) + (panels[1] + panels[3]);
    combined = runs == 1 ? sum : combined + sum;
  }
  return combined;
}

std::vector<std::string> ConfigNames() {
  std::vector<std::string> names;
  for (const Named& named : kConfigs) names.push_back(named.name);
  return names;
}

const Registration kBlock32(PlannedOperation({
    .name = "planned/gfx950/block32_gemm",
    .x_format = "e4m3fn",
    .w_format = "e4m3fn",
    .block_scales = true,
    .dimensions = {{"config", ConfigNames()}},
    .shapes = "M=2 N=32 K=576,2080 against=* config=*\n"
              "M=1,9,33 N=64 K=96 against=* config=selected\n"
              // K of a tuned shape.
              "M=1 N=32 K=5120 against=* config=packed2_split3\n"
              "random 4: M=1..4 N=32*{1,2} K=32*{1..90} against=* config=*\n"
              "M=2 N=32 K=80 against=plan config=tiled  # refused\n"
              "M=2 N=48 K=64 against=plan config=tiled  # refused",
    .planned = [](const Call& call, const MxMatrix& x,
                  const MxMatrix& w) { return gfx950::Block32Gemm(x, w, ConfigOf(call)); },
    .reduction =
        [](const Call& call) { return gfx950::Block32Reduction(call["K"], ConfigOf(call)); },
    .loops = Block32Loops,
}));

// ---- row scales ----

float Ascending(const Call& call, const AddBlock& add) {
  float accumulator = 0;
  for (std::int64_t block = 0; block < call["K"] / 32; ++block) {
    accumulator = add(accumulator, block);
  }
  return accumulator;
}

const Registration kRowScale(PlannedOperation({
    .name = "planned/gfx950/row_scale_gemm",
    .x_format = "e4m3fn",
    .w_format = "e4m3fn",
    .shapes = "M=3 N=33 K=128*{1,2,15} against=*\n"
              "random 4: M=1..6 N=1..40 K=128*{1..20} against=*\n"
              "M=2 N=16 K=160 against=plan  # refused",
    .planned = [](const Call&, const MxMatrix& x,
                  const MxMatrix& w) { return gfx950::RowScaleGemm(x, w); },
    .reduction = [](const Call& call) { return gfx950::RowScaleReduction(call["K"]); },
    .loops = Ascending,
}));

// ---- experts ----

// Two accumulators, steps of 128 dealt to them.
template <class Which>
float TwoAccumulators(const Call& call, const AddBlock& add, Which which) {
  const std::int64_t blocks = call["K"] / 32, steps = (blocks + 3) / 4;
  float sums[2] = {0, 0};
  for (std::int64_t block = 0; block < blocks; ++block) {
    float& sum = sums[which(block / 4, steps)];
    sum = add(sum, block);
  }
  return sums[0] + sums[1];
}

int SlicesOf(const Call& call) { return call["slices"] == 1 ? 4 : 2; }

// Slice s: steps 8 i + 2 s and the one after, i = 0, 1, ..
float FourSlices(const Call& call, const AddBlock& add) {
  float sums[4] = {0, 0, 0, 0};
  for (std::int64_t slice = 0; slice < 4; ++slice) {
    for (std::int64_t first = 2 * slice; first < call["K"] / 128; first += 8) {
      for (std::int64_t block = 4 * first; block < 4 * first + 8; ++block) {
        sums[slice] = add(sums[slice], block);
      }
    }
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

const Registration kUpGate(PlannedOperation({
    .name = "planned/gfx950/up_gate",
    .x_format = "e4m3fn",
    .w_format = "e2m1",
    .dimensions = {{"slices", {"two", "four"}}},
    .shapes = "M=2 N=16 K=32,160,1024,1056,2592,3072,3712 against=* slices=two\n"
              "M=2 N=16 K=1024,3072 against=* slices=four\n"
              "random 4: M=1..4 N=1..40 K=32*{1..130} against=* slices=two\n"
              "M=2 N=16 K=48 against=plan slices=two  # refused\n"
              "M=2 N=16 K=1152 against=plan slices=four  # refused",
    .planned = [](const Call& call, const MxMatrix& x,
                  const MxMatrix& w) { return gfx950::UpGateGemv(x, w, SlicesOf(call)); },
    .reduction =
        [](const Call& call) { return gfx950::UpGateReduction(call["K"], SlicesOf(call)); },
    .loops =
        [](const Call& call, const AddBlock& add) {
          if (call["slices"] == 1) return FourSlices(call, add);
          // Groups of eight steps in turn; of an odd number, the last one's halves.
          return TwoAccumulators(call, add, [](std::int64_t step, std::int64_t steps) {
            const std::int64_t groups = (steps + 7) / 8, group = step / 8;
            const bool halved = groups % 2 == 1 && group == groups - 1;
            return halved ? step % 8 / 4 : group % 2;
          });
        },
}));

const Registration kDown(PlannedOperation({
    .name = "planned/gfx950/down",
    .x_format = "e4m3fn",
    .w_format = "e2m1",
    .shapes = "M=2 N=16 K=32,160,576,768 against=*\n"
              "random 4: M=1..4 N=1..40 K=32*{1..40} against=*\n"
              "M=2 N=16 K=48 against=plan  # refused",
    .planned = [](const Call&, const MxMatrix& x,
                  const MxMatrix& w) { return gfx950::DownGemv(x, w); },
    .reduction = [](const Call& call) { return gfx950::DownReduction(call["K"]); },
    .loops =
        [](const Call& call, const AddBlock& add) {
          return TwoAccumulators(call, add,
                                 [](std::int64_t step, std::int64_t) { return step % 2; });
        },
}));

}  // namespace
}  // namespace lanewise::differential
