// Seed 000 says what tile-major order is for: a 16-byte load a lane takes 8 lines of 128 bytes, in
// lane-major order 16, or more where rows do not begin at lines.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "benchmarks/kernel_cost/cases.h"
#include "benchmarks/kernel_cost/fp4_order.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/module.h"
#include "hip/runtime/stream.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/pack.h"

namespace lanewise::benchmarks {
namespace {

using hip::Buffer;

// What lane 16 j + r of a tile's wave folds together, straight from the source: in each step of
// four K blocks (or two, at the end) its row's dword j of each block.
uint32_t ExpectedFold(std::span<const uint8_t> row, int64_t group) {
  const auto bytes = static_cast<int64_t>(row.size());
  uint32_t sum = 0;
  for (int64_t step = 0; step < bytes; step += 64) {
    uint32_t folded = 0;
    for (int64_t block = step; block < std::min(step + 64, bytes); block += 16) {
      uint32_t dword;
      std::memcpy(&dword, &row[static_cast<size_t>(block + 4 * group)], 4);
      folded ^= dword;
    }
    sum = sum * 5 + folded;
  }
  return sum;
}

// Prepares random weights in the layout's order, loads them, and checks what the kernel saw.
absl::Status Run(const hip::Device& device, const char* kernel_name, const Layout& layout,
                 int64_t rows, int64_t row_bytes) {
  LANEWISE_ASSIGN_OR_RETURN(const BoundLayout bound,
                            Bind(layout, std::vector<int64_t>{rows, row_bytes}));
  std::mt19937 random(7);
  std::vector<uint8_t> source(static_cast<size_t>(rows * row_bytes));
  for (uint8_t& byte : source) byte = static_cast<uint8_t>(random());
  std::vector<uint8_t> prepared(source.size());
  LANEWISE_RETURN_IF_ERROR(Pack(bound, 1, source, prepared));

  LANEWISE_ASSIGN_OR_RETURN(hip::Module module,
                            hip::Module::Load(hip::Fp4OrderCodeObjects(), device));
  LANEWISE_ASSIGN_OR_RETURN(hip::Kernel kernel, module.Find(kernel_name));
  LANEWISE_ASSIGN_OR_RETURN(Buffer weights,
                            Buffer::Of(std::span<const uint8_t>(prepared), "weights"));
  LANEWISE_ASSIGN_OR_RETURN(Buffer out, Buffer::Allocate(rows / 16 * 256, "out"));
  const hip::Stream stream = hip::Stream::Default();
  absl::Status status = kernel.Launch({.grid = {static_cast<uint32_t>(rows / 16)}, .block = {64}},
                                      stream, weights, static_cast<uint32_t>(row_bytes), out);
  if (!status.ok()) return status;
  if (status = stream.Synchronize(); !status.ok()) return status;
  LANEWISE_ASSIGN_OR_RETURN(const std::vector<uint32_t> folded, out.Read<uint32_t>());
  for (int64_t i = 0; i < rows * 4; ++i) {
    const int64_t row = i / 64 * 16 + i % 16;
    const std::span<const uint8_t> bytes(&source[static_cast<size_t>(row * row_bytes)],
                                         static_cast<size_t>(row_bytes));
    const uint32_t expected = ExpectedFold(bytes, i % 64 / 16);
    if (folded[static_cast<size_t>(i)] != expected) {
      return Internal("tile ", i / 64, ", lane ", i % 64, " folded ",
                      folded[static_cast<size_t>(i)], ", expected ", expected);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<CostCase> Fp4OrderCases() {
  std::vector<CostCase> cases;
  struct Shape {
    int64_t rows, k;
    bool small;
    const char* what;
  };
  const Shape shapes[] = {
      {32, 640, true, "rows of 2.5 lines"},  {16, 576, true, "rows of 2.25 lines"},
      {32, 1024, true, "rows of 4 lines"},   {1152, 5120, false, "w13 of an expert"},
      {5120, 576, false, "w2 of an expert"},
  };
  for (const Shape& shape : shapes) {
    for (const bool tile_major : {true, false}) {
      CostCase each;
      each.kernel = tile_major ? "load fp4_tile_major" : "load fp4_lane_major";
      each.shape = absl::StrCat(shape.rows, " x ", shape.k, ", ", shape.what);
      each.small = shape.small;
      each.cost.weight_bytes = shape.rows * shape.k / 2;
      each.cost.output_bytes = shape.rows * 16;
      each.cost.launches = 1;
      each.lines_once = tile_major;
      each.run = [=](const hip::Device& device) {
        return Run(device, tile_major ? "LoadTileMajor" : "LoadLaneMajor",
                   *FindLayout(tile_major ? "gfx942/fp4_tile_major" : "gfx942/fp4_lane_major"),
                   shape.rows, shape.k / 2);
      };
      cases.push_back(std::move(each));
    }
  }
  return cases;
}

}  // namespace lanewise::benchmarks
