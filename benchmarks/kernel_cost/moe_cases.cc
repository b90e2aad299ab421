#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "benchmarks/kernel_cost/cases.h"
#include "hip/gfx942/moe_down.h"
#include "hip/gfx942/moe_up_gate.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/stream.h"

namespace lanewise::benchmarks {
namespace {

using hip::Buffer;
using hip::LaunchCost;
using hip::gfx942::MoeBetween;
using hip::gfx942::MoeDown;
using hip::gfx942::MoeProblem;
using hip::gfx942::MoeUpGate;

// Buffers that are named, and kept until all work is done. The first failure is kept too.
class Memory {
 public:
  template <typename T>
  void* Of(std::span<const T> values, std::string_view name) {
    return Keep(Buffer::Of(values, name));
  }
  void* Room(int64_t bytes, std::string_view name) { return Keep(Buffer::Allocate(bytes, name)); }
  const absl::Status& status() const { return status_; }

 private:
  void* Keep(absl::StatusOr<Buffer> buffer) {
    if (!buffer.ok()) {
      status_ = buffer.status();
      return nullptr;
    }
    buffers_.push_back(*std::move(buffer));
    return buffers_.back().data();
  }

  std::vector<Buffer> buffers_;
  absl::Status status_;
};

std::vector<uint8_t> Bytes(int64_t count, std::mt19937* random) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((*random)() & 0x77);  // no -0
  return bytes;
}

// Up/gate, and down too where `down_cost` is given. Token t's pick k is expert (t + k) % experts.
absl::Status Run(const hip::Device& device, const MoeProblem& p, const LaunchCost& up_cost,
                 const LaunchCost* down_cost) {
  LANEWISE_ASSIGN_OR_RETURN(const MoeUpGate up_gate, MoeUpGate::Load(device));
  std::mt19937 random(7);
  std::vector<uint16_t> x(static_cast<size_t>(p.tokens * p.hidden));
  for (uint16_t& value : x) value = static_cast<uint16_t>(0x3F00 + random() % 256);
  std::vector<int32_t> experts(static_cast<size_t>(p.picks()));
  for (int64_t i = 0; i < p.picks(); ++i) {
    experts[i] = static_cast<int32_t>((i / p.top_k + i % p.top_k) % p.experts);
  }
  const std::vector<float> routing(experts.size(), 0.25f);
  const int64_t k = p.padded_hidden(), inter = p.padded_inter();
  const std::vector<uint8_t> w13 = Bytes(p.experts * 2 * inter * k / 2, &random);
  const std::vector<uint8_t> w2 = Bytes(p.experts * p.hidden * inter / 2, &random);
  const std::vector<uint8_t> w13_codes(w13.size() / 16, 121), w2_codes(w2.size() / 16, 121);
  const MoeBetween between = BytesBetween(p);
  Memory memory;
  MoeUpGate::Operands up = {};
  up.x = memory.Of(std::span<const uint16_t>(x), "x");
  up.experts = memory.Of(std::span<const int32_t>(experts), "experts");
  up.w13 = memory.Of(std::span<const uint8_t>(w13), "weights w13");
  up.w13_codes = memory.Of(std::span<const uint8_t>(w13_codes), "weight codes w13");
  up.grouping = memory.Room(between.grouping, "grouping");
  up.mid = memory.Room(between.mid, "mid");
  up.mid_codes = memory.Room(between.mid_codes, "mid codes");
  up.workspace = memory.Room(up_cost.workspace_bytes, "workspace");
  if (!memory.status().ok()) return memory.status();
  const hip::Stream stream = hip::Stream::Default();
  LANEWISE_RETURN_IF_ERROR(up_gate.Launch(p, up, stream));
  if (down_cost == nullptr) return stream.Synchronize();

  LANEWISE_ASSIGN_OR_RETURN(const MoeDown down, MoeDown::Load(device));
  MoeDown::Operands operands = {};
  operands.grouping = up.grouping;
  operands.mid = up.mid;
  operands.mid_codes = up.mid_codes;
  operands.experts = up.experts;
  operands.weights = memory.Of(std::span<const float>(routing), "routing");
  operands.w2 = memory.Of(std::span<const uint8_t>(w2), "weights w2");
  operands.w2_codes = memory.Of(std::span<const uint8_t>(w2_codes), "weight codes w2");
  operands.out = memory.Room(p.tokens * p.hidden * 2, "out");
  operands.workspace = memory.Room(down_cost->workspace_bytes, "down workspace");
  if (!memory.status().ok()) return memory.status();
  LANEWISE_RETURN_IF_ERROR(down.Launch(p, operands, stream));
  return stream.Synchronize();
}

// What MoeDown loads of w2's codes. A row's codes begin at any even byte, so each step of 128 loads
// the two dwords that hold its four codes; four steps are in flight, and those past the last load
// it again. The second dword of a tile's last row can lie past its codes, where nothing is
// fetched; in the loop (not before it) clang 22 makes one load of the two, and then neither is.
int64_t FetchedDownCodes(const MoeProblem& p) {
  constexpr int64_t kInFlight = 4;
  const int64_t row_codes = p.padded_inter() / 32;
  const int64_t steps = (p.padded_inter() + 127) / 128;
  int64_t tile = 0;
  for (int64_t load = 0; load < kInFlight + steps - 1; ++load) {
    for (int64_t row = 0; row < 16; ++row) {
      const int64_t first = (row * row_codes + 4 * std::min(load, steps - 1)) / 4 * 4;
      if (first + 8 <= 16 * row_codes) {
        tile += 8;
      } else if (load < kInFlight) {
        tile += 4;
      }
    }
  }
  return std::min(p.experts, p.picks()) * p.hidden / 16 * tile;
}

}  // namespace

std::vector<CostCase> MoeCases() {
  struct Shape {
    MoeProblem problem;
    bool small = false;
  };
  std::vector<CostCase> cases;
  for (const Shape& shape : {
           Shape{{.tokens = 2, .top_k = 2, .experts = 2, .hidden = 512, .inter = 96}, true},
           // DeepSeek V4.1-Flash, TP4, as many experts as are picked.
           Shape{{.tokens = 1, .top_k = 6, .experts = 6, .hidden = 5120, .inter = 576}},
           Shape{{.tokens = 6, .top_k = 6, .experts = 6, .hidden = 5120, .inter = 576}},
       }) {
    const MoeProblem& p = shape.problem;
    const absl::StatusOr<LaunchCost> up = MoeUpGate::Cost(p), down = MoeDown::Cost(p);
    if (!up.ok() || !down.ok()) continue;
    const std::string text = absl::StrCat(p.tokens, " token(s), top ", p.top_k, ", ", p.experts,
                                          " experts, ", 2 * p.inter, " x ", p.hidden);
    CostCase up_gate;
    up_gate.kernel = "gfx942/moe_up_gate";
    up_gate.shape = text;
    up_gate.small = shape.small;
    up_gate.cost = *up;
    up_gate.run = [p, up = *up](const hip::Device& device) { return Run(device, p, up, nullptr); };
    cases.push_back(std::move(up_gate));

    CostCase both;
    both.kernel = "gfx942/moe_up_gate, moe_down";
    both.shape = absl::StrCat(text, "; ", p.hidden, " x ", p.inter);
    both.small = shape.small;
    both.cost = *up;
    both.cost.weight_bytes += down->weight_bytes;
    both.cost.activation_bytes += down->activation_bytes;
    both.cost.output_bytes += down->output_bytes;
    both.cost.workspace_bytes += down->workspace_bytes;
    both.cost.launches += down->launches;
    const int64_t down_codes = std::min(p.experts, p.picks()) * p.hidden * p.padded_inter() / 32;
    both.fetched_weight_bytes = both.cost.weight_bytes - down_codes + FetchedDownCodes(p);
    both.run = [p, up = *up, down = *down](const hip::Device& device) {
      return Run(device, p, up, &down);
    };
    cases.push_back(std::move(both));
  }
  return cases;
}

}  // namespace lanewise::benchmarks
