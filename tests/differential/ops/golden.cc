// The golden cases' operations on layouts (tests/golden), on generated shapes: reference/ against
// weights/, which also restores what it has moved. dense_copy, linear_copy, permute_wq_b and
// permute_wo_a are prepare/gfx942/dense*, prepare/flashmla/wq_b and wo_a.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "formats/formats.h"
#include "nlohmann/json.hpp"
#include "tests/differential/operation.h"
#include "tests/differential/prepared.h"
#include "tests/golden/case.h"
#include "tests/golden/operations.h"

namespace lanewise::differential {
namespace {

DType DTypeOf(const std::string& format) {
  return format == "bf16" ? DType::kBf16 : format == "u16" ? DType::kU16 : DType::kU8;
}

// Arguments of the golden case that are dimensions of the operation, by the golden name.
using Numbers = std::map<std::string, std::string>;

absl::Status Run(const Call& call, const std::string& op, std::string_view room,
                 const Numbers& numbers) {
  FillOutputs(call);
  nlohmann::json args = nlohmann::json::object();
  for (const auto& [name, dimension] : numbers) args[name] = call[dimension];
  std::map<std::string, golden::TensorView> inputs;
  for (const Operand& operand : call.operands) {
    if (operand.argument->role != Role::kInput) continue;
    inputs[operand.argument->name] = {DTypeOf(operand.argument->format), operand.extents,
                                      call.Bytes(operand.argument->name)};
  }
  const golden::Operation* const operation = golden::OperationTable::Get().Find(op, room);
  if (operation == nullptr) {
    return Internal("no golden operation ", op, " in ", room);
  }
  LANEWISE_ASSIGN_OR_RETURN(const auto results,
                            (*operation)(golden::Case(0, op, args, inputs, {})));
  for (const auto& [role, tensor] : results.tensors) {
    const std::string name = "out_" + role;
    const std::span<std::uint8_t> to = call.Bytes(name);
    // A permutation's numbers of 8 bytes stand as pairs of 4.
    std::vector<std::int64_t> expected = call.At(name).extents;
    if (tensor.dtype == DType::kI64) expected.pop_back();
    if (tensor.shape != expected || tensor.bytes.size() != to.size()) {
      return Internal("'", role, "' has another shape than expected");
    }
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), to.begin());
  }
  // Those that both rooms count.
  for (const Operand& operand : call.operands) {
    const std::string& name = operand.argument->name;
    if (name.substr(0, 6) != "count_") continue;
    const auto count = results.counts.find(name.substr(6));
    if (count == results.counts.end()) {
      return Internal(op, " has no ", name);
    }
    *static_cast<std::uint32_t*>(operand.data) = static_cast<std::uint32_t>(count->second);
  }
  return absl::OkStatus();
}

Argument In(const char* name, const char* format, std::vector<std::string> extents) {
  return {.name = name, .format = format, .extents = std::move(extents)};
}
Argument Out(const std::string& name, const char* format, std::vector<std::string> extents) {
  return {.name = name, .format = format, .role = Role::kOutput, .extents = std::move(extents)};
}

Operation Golden(const std::string& op, std::vector<Dimension> dimensions, std::string shapes,
                 std::vector<Argument> arguments, const Numbers& numbers = {}) {
  Operation operation;
  operation.name = "golden/" + op;
  operation.dimensions = std::move(dimensions);
  operation.shapes = std::move(shapes);
  operation.arguments = std::move(arguments);
  operation.data = {Data::kIota, Data::kRandomBits};
  operation.reference = [=](const Call& call) {
    return Run(call, op, golden::kReference, numbers);
  };
  operation.host = [=](const Call& call) { return Run(call, op, golden::kWeights, numbers); };
  return operation;
}

// ---- one tensor of bytes, moved ----

Operation Move(const std::string& op, const char* role, const char* row_sizes,
               const char* column_sizes, const char* refused) {
  const std::vector<std::string> extents = {"E", "rows", "columns"};
  Operation operation =
      Golden(op, {{"E"}, {"rows"}, {"columns"}},
             absl::StrCat("E=1,3 rows=", row_sizes, "*{1,3} columns=", column_sizes,
                          "*{1,2,5}\nrandom 10: E=1..3 rows=", row_sizes,
                          "*{1..6} columns=", column_sizes, "*{1..9}\n", refused),
             {In(role, "u8", extents), Out(absl::StrCat("out_", role), "u8", extents)});
  operation.moves = true;
  return operation;
}

const Registration kLaneMajor(Move("fp4_lane_major", "w", "1", "32", "E=2 rows=3 columns=40"));
const Registration kTileMajor(Move("fp4_tile_major", "w", "16", "32",
                                   "E=2 rows=8 columns=64; E=1 rows=16 columns=40"));
const Registration kShuffle(Move("aiter_shuffle_weight_16x16", "w", "16", "32",
                                 "E=2 rows=8 columns=64; E=1 rows=16 columns=40"));
const Registration kE8m0Shuffle(Move("aiter_e8m0_shuffle", "codes", "32", "8",
                                     "E=1 rows=40 columns=8; E=1 rows=32 columns=12"));
const Registration kTileRounds([] {
  const std::vector<std::string> extents = {"E", "rows", "columns"};
  Operation operation =
      Golden("codes_tile_rounds", {{"E"}, {"rows"}, {"columns"}, {"blocks"}},
             "E=1,3 rows=16*{1,3} columns=8*{1,3} blocks=8\n"
             "E=2 rows=32 columns=3*{1,4} blocks=3\n"
             "random 6: E=1..3 rows=16*{1..4} columns=12*{1..5} blocks=1..4\n"
             "E=1 rows=24 columns=8 blocks=8; E=1 rows=16 columns=12 blocks=8",
             {In("codes", "u8", extents), Out("out_codes", "u8", extents)}, {{"blocks", "blocks"}});
  operation.moves = true;
  return operation;
}());

const Registration kDropNegativeZero(
    Golden("fp4_drop_negative_zero", {{"E"}, {"rows"}, {"columns"}},
           "E=1,3 rows=1,5 columns=1,32,100; random 6: E=1..3 rows=1..20 columns=1..200",
           {In("w", "u8", {"E", "rows", "columns"}), Out("out_w", "u8", {"E", "rows", "columns"}),
            Out("count_changed", "u32", {"1"})}));

// ---- permutations ----

Operation Permutation(const std::string& op, const char* heads, const char* size,
                      const char* dims) {
  // Numbers of 8 bytes as pairs of 4: there is no input, and so one kind of data.
  Operation operation =
      Golden(op, {{"heads"}, {"dim"}},
             absl::StrCat("heads=1,2,8 dim=", dims, "*{1,3,16}\nrandom 4: heads=1..20 dim=", dims,
                          "*{1..16}\nheads=2 dim=40; heads=0 dim=64"),
             {Out("out_perm", "u32", {size, "2"})}, {{heads, "heads"}, {"head_dim", "dim"}});
  operation.data = {Data::kIota};
  return operation;
}

const Registration kQ(Permutation("q_fused_permutation", "num_heads", "heads * dim", "16"));
const Registration kO(Permutation("o_fused_permutation", "heads_per_group", "heads * dim", "32"));
const Registration kOChunk(Permutation("o_fused_chunk_permutation", "heads_per_group",
                                       "heads * dim / 32", "32"));

Operation PermuteQ(const char* format) {
  const std::vector<std::string> extents = {"T", "heads", "dim"};
  Operation operation = Golden("permute_q_to_fused", {{"T"}, {"heads"}, {"dim"}},
                               "T=1,3 heads=2,8 dim=16*{1,3}\n"
                               "random 6: T=1..4 heads=2..12 dim=16*{1..6}\n"
                               "T=1 heads=2 dim=24",
                               {In("q", format, extents), Out("out_q", format, extents)});
  operation.name += absl::StrCat("/", format);
  operation.moves = true;
  return operation;
}
const Registration kQ8(PermuteQ("u8"));
const Registration kQ16(PermuteQ("u16"));

// ---- linears ----

// Row codes that fold; under random bits one of them may not.
void FillRowCodes(Data data, const Call& call, std::mt19937_64& random) {
  const std::int64_t columns = call.At("scale").extents[1];
  auto* const codes = call.Data<std::uint8_t>("scale");
  for (std::int64_t i = 0; i < call.At("scale").elements; ++i) {
    codes[i] = i / columns % 32 == 0 ? static_cast<std::uint8_t>(random()) : codes[i - columns];
  }
  if (data == Data::kRandomBits && random() % 2 == 0 && call.At("scale").elements > 0) {
    codes[random() % static_cast<std::uint64_t>(call.At("scale").elements)] ^= 1;
  }
}

// No output stands for codes that are not blocks.
const Registration kAsBlock32([] {
  Operation operation =
      Golden("as_block32_scale", {{"N"}, {"columns"}},
             "N=32*{1,4} columns=1,9; random 20: N=1..130 columns=1..9",
             {In("scale", "u8", {"N", "columns"}), Out("out_scale", "u8", {"N / 32", "columns"})});
  operation.arguments[0].generate = FillRowCodes;
  return operation;
}());

// bf16 values of which, but under iota, some are not e4m3 x code.
void FillDequantized(Data data, const Call& call, std::mt19937_64& random) {
  const Operand& w = call.At("w");
  const Operand& scale = call.At("scale");
  for (std::int64_t i = 0; i < w.elements; ++i) {
    auto byte =
        static_cast<std::uint8_t>(data == Data::kIota ? static_cast<std::uint64_t>(i) : random());
    if ((byte & 0x7F) == 0x7F) byte ^= 1;
    const std::int64_t at = i / call["K"] / 32 * scale.extents[1] + i % call["K"] / 32;
    const std::uint8_t code = at < scale.elements ? call.Data<std::uint8_t>("scale")[at] : 127;
    const float value = E4m3Fn::FromBits(byte).ToFloat() * E8m0::FromBits(code).ToFloat();
    std::uint16_t bits = Bf16::FromFloat(value).bits();
    if (data != Data::kIota && random() % 50 == 0) bits = static_cast<std::uint16_t>(random());
    call.Data<std::uint16_t>("w")[i] = bits;
  }
}

// A refusal of values says how many: both have to count the same.
const Registration kOcpFromDequant([] {
  const std::string op = "ocp_from_dequant";
  Operation operation =
      Golden(op, {{"N"}, {"K"}},
             "N=32*{1,3} K=32*{1,5}; random 8: N=32*{1..4} K=32*{1..9}; N=40 K=32; N=32 K=40",
             {In("scale", "u8", {"N / 32", "K / 32"}), In("w", "bf16", {"N", "K"}),
              Out("out_bytes", "u8", {"N", "K"}), Out("refused", "u32", {"1"})});
  operation.arguments[0].code_limit = 230;
  operation.arguments[1].generate = FillDequantized;
  const auto counting = [op](std::string_view room) {
    return [op, room](const Call& call) {
      const absl::Status status = Run(call, op, room, {});
      *call.Data<std::uint32_t>("refused") = 0;
      if (status.ok()) return status;
      const std::string message(StdView(status.message()));
      if (message.find(" values are not") == std::string::npos) return status;
      FillOutputs(call);
      *call.Data<std::uint32_t>("refused") = static_cast<std::uint32_t>(std::stoul(message));
      return absl::OkStatus();
    };
  };
  operation.reference = counting(golden::kReference);
  operation.host = counting(golden::kWeights);
  return operation;
}());

// ---- experts ----

// Zeros from `inter` on, now and then but for one byte, which is refused.
void Pad(const Call& call, const char* name, std::mt19937_64& random) {
  const std::int64_t padded = call["padded"], inter = call["inter"];
  const Operand& w = call.At(name);
  const std::int64_t columns = w.extents[2];
  const bool gate_up = name == std::string("w13");
  auto* const bytes = call.Data<std::uint8_t>(name);
  for (std::int64_t i = 0; i < w.elements; ++i) {
    const std::int64_t at = gate_up ? i / columns % padded : 2 * (i % columns);
    bytes[i] = at >= inter ? 0 : static_cast<std::uint8_t>(random());
  }
  if (random() % 6 == 0 && w.elements > 0) {
    bytes[w.elements - 1] |= static_cast<std::uint8_t>(random());
  }
}

const Registration kMoeCopies([] {
  const auto w13 = std::vector<std::string>{"E", "2 * padded", "K / 2"};
  const auto s13 = std::vector<std::string>{"E", "2 * padded", "K / 32"};
  const auto w2 = std::vector<std::string>{"E", "out", "padded / 2"};
  const auto s2 = std::vector<std::string>{"E", "out", "padded / 32"};
  Operation operation =
      Golden("moe_copies", {{"E"}, {"K"}, {"inter"}, {"padded"}, {"out"}},
             "E=1,3 K=256 inter=64,128 padded=128,192 out=16,48\n"
             "random 8: E=1..3 K=256*{1,2} inter=64*{1..3} padded=64*{3..5} out=16*{1..4}\n"
             "E=1 K=128 inter=64 padded=64 out=16; E=1 K=256 inter=48 padded=64 out=16\n"
             "E=1 K=256 inter=64 padded=64 out=24",
             {In("w13", "u8", w13), In("w13_s", "u8", s13), In("w2", "u8", w2),
              In("w2_s", "u8", s2), Out("out_w13", "u8", {"E", "2 * inter", "K / 2"}),
              Out("out_w13_s", "u8", {"E", "2 * inter", "K / 32"}),
              Out("out_w2", "u8", {"E", "out", "inter / 2"}),
              Out("out_w2_s", "u8", {"E", "out", "inter / 32"})},
             {{"inter", "inter"}});
  for (const int i : {0, 2}) {
    Argument& argument = operation.arguments[static_cast<std::size_t>(i)];
    argument.generate = [name = argument.name](Data, const Call& call, std::mt19937_64& random) {
      Pad(call, name.c_str(), random);
    };
  }
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
