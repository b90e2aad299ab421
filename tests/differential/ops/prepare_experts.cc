// Preparation of MXFP4 experts in weights/ against reference/: gfx942's copies and AITER's order.

#include <array>
#include <cstring>

#include "reference/aiter/shuffle.h"
#include "reference/gfx942/moe.h"
#include "reference/gfx942/pad_experts.h"
#include "tests/differential/operation.h"
#include "weights/gfx942/experts.h"
#include "weights/gfx950/experts.h"

namespace lanewise::differential {
namespace {

using Bytes3 = Tensor<std::uint8_t, 3>;

Bytes3 BytesOf(const Call& call, std::string_view name, int elements_a_byte) {
  const Operand& operand = call.At(name);
  Bytes3 bytes(operand.extents[0], operand.extents[1], operand.extents[2] / elements_a_byte);
  std::memcpy(bytes.data(), operand.data, static_cast<std::size_t>(operand.bytes));
  return bytes;
}

template <int kRank>
void Store(const Call& call, std::string_view name, const Tensor<std::uint8_t, kRank>& tensor) {
  std::memcpy(call.Data(name), tensor.data(), call.Bytes(name).size());
}

absl::Status Run(const Call& call, const TensorPlan& plan, const char* weight, const char* codes,
                 const char* out) {
  const RunOptions options = {.threads = static_cast<int>(call["threads"])};
  return RunPlan(plan, {call.Bytes(weight), call.Bytes(codes)}, options, call.Bytes(out)).status();
}

absl::Status RunAll(const Call& call, const absl::StatusOr<WeightPlans>& w13,
                    const absl::StatusOr<WeightPlans>& w2) {
  if (!w13.ok()) return w13.status();
  if (!w2.ok()) return w2.status();
  for (const absl::Status& status :
       {Run(call, w13->weight, "w13", "s13", "out13"),
        Run(call, w13->codes, "w13", "s13", "outs13"), Run(call, w2->weight, "w2", "s2", "out2"),
        Run(call, w2->codes, "w2", "s2", "outs2")}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

Operation Experts(bool is_gfx942) {
  Operation operation;
  operation.name = is_gfx942 ? "prepare/gfx942/experts" : "prepare/gfx950/experts";
  operation.dimensions = {{"E"}, {"hidden"}, {"inter"}, {"out"}, {"threads"}};
  operation.shapes =
      "E=1,3 hidden=256,576 inter=64,576 out=16,48 threads=1,3\n"
      // gpt-oss, whose sizes are padded; few rows.
      "E=1 hidden=2880 inter=64 out=16 threads=1\n"
      "random 10: E=1..3 hidden=64*{1..10} inter=64*{1..5} out=16*{1..4} threads=1,3\n"
      "E=1 hidden=272 inter=64 out=16 threads=1; E=1 hidden=256 inter=64 out=24 threads=1";
  const std::string k = is_gfx942 ? "roundup(hidden, 256)" : "hidden";
  const std::string i = is_gfx942 ? "roundup(inter, 64)" : "inter";
  const int limit = is_gfx942 ? 250 : 0;
  operation.arguments = {
      {.name = "w13",
       .format = "e2m1",
       .role = Role::kInput,
       .extents = {"E", "2 * inter", "hidden"}},
      {.name = "s13",
       .format = "e8m0",
       .role = Role::kInput,
       .extents = {"E", "2 * inter", "hidden / 32"},
       .code_limit = limit},
      {.name = "w2", .format = "e2m1", .role = Role::kInput, .extents = {"E", "out", "inter"}},
      {.name = "s2",
       .format = "e8m0",
       .role = Role::kInput,
       .extents = {"E", "out", "inter / 32"},
       .code_limit = limit},
      {.name = "out13", .format = "e2m1", .role = Role::kOutput, .extents = {"E", "2 * " + i, k}},
      {.name = "outs13",
       .format = "e8m0",
       .role = Role::kOutput,
       .extents = is_gfx942 ? std::vector<std::string>{"E", "2 * " + i, k + " / 32"}
                            : std::vector<std::string>{"roundup(E * 2 * inter, 256)",
                                                       "roundup(hidden / 32, 8)"}},
      {.name = "out2", .format = "e2m1", .role = Role::kOutput, .extents = {"E", "out", i}},
      {.name = "outs2",
       .format = "e8m0",
       .role = Role::kOutput,
       .extents =
           is_gfx942 ? std::vector<std::string>{"E", "out", i + " / 32"}
                     : std::vector<std::string>{"roundup(E * out, 256)", "roundup(inter / 32, 8)"}},
  };
  operation.data = {Data::kIota, Data::kRandomBits, Data::kNegativeZeros, Data::kExtremeScales};
  operation.reference = [is_gfx942](const Call& call) -> absl::Status {
    if (call["hidden"] % 32 != 0 || call["inter"] % 32 != 0) {
      return absl::InvalidArgumentError("hidden and inter are multiples of 32");
    }
    const reference::gfx942::Experts plain = {BytesOf(call, "w13", 2), BytesOf(call, "s13", 1),
                                              BytesOf(call, "w2", 2), BytesOf(call, "s2", 1)};
    if (is_gfx942) {
      const auto padded = reference::gfx942::PadExperts(plain);
      if (!padded.ok()) return padded.status();
      const auto copied = reference::gfx942::MoeCopies(*padded, padded->w2.dimension(2) * 2);
      if (!copied.ok()) return copied.status();
      Store(call, "out13", copied->experts.w13);
      Store(call, "outs13", copied->experts.w13_codes);
      Store(call, "out2", copied->experts.w2);
      Store(call, "outs2", copied->experts.w2_codes);
      return absl::OkStatus();
    }
    const auto codes = [](const Bytes3& t) {
      return reference::aiter::E8m0Shuffle(
          reference::aiter::PadE8m0(Tensor<std::uint8_t, 2>(t.reshape(
              std::array<std::int64_t, 2>{t.dimension(0) * t.dimension(1), t.dimension(2)}))));
    };
    const auto w13 = reference::aiter::ShuffleWeight16x16(plain.w13);
    const auto w2 = reference::aiter::ShuffleWeight16x16(plain.w2);
    const auto s13 = codes(plain.w13_codes), s2 = codes(plain.w2_codes);
    for (const absl::Status& status : {w13.status(), w2.status(), s13.status(), s2.status()}) {
      if (!status.ok()) return status;
    }
    Store(call, "out13", *w13);
    Store(call, "outs13", *s13);
    Store(call, "out2", *w2);
    Store(call, "outs2", *s2);
    return absl::OkStatus();
  };
  operation.host = [is_gfx942](const Call& call) {
    const gfx942::PlainExperts plain = {call["E"], call["hidden"], call["inter"], call["inter"],
                                        call["out"]};
    if (is_gfx942) {
      return RunAll(call, gfx942::PlanGateUp(plain.GateUp(), {}),
                    gfx942::PlanDown(plain.Down(), {}));
    }
    return RunAll(call, gfx950::PlanGateUp(plain.GateUp(), GateUpRowOrder::kGateThenUp),
                  gfx950::PlanDown(plain.Down()));
  };
  return operation;
}

const Registration kGfx942(Experts(true));
const Registration kGfx950(Experts(false));

}  // namespace
}  // namespace lanewise::differential
