// The experts' layers, which are composed of GEMMs. The references here go token by token and pick
// by pick, with the GEMMs that the other planned operations hold to their plans; reference/ gathers
// the tokens of each expert.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/routed_moe.h"
#include "reference/gfx942/moe_semantics.h"
#include "reference/gfx950/a16w4_moe_semantics.h"
#include "reference/gfx950/moe_semantics.h"
#include "reference/quantize/mx.h"
#include "tests/differential/data.h"
#include "tests/differential/matrices.h"

namespace lanewise::differential {
namespace {

using reference::MxMatrix;
using Sums = absl::StatusOr<Tensor<float, 2>>;

struct Experts {
  Tensor<std::uint8_t, 3> w13, w13_codes, w2, w2_codes;
  Tensor<std::int32_t, 2> picks;
  Tensor<float, 2> weights;

  explicit Experts(const Call& call)
      : w13(BytesOf<3>(call, "w13")),
        w13_codes(BytesOf<3>(call, "w13_codes")),
        w2(BytesOf<3>(call, "w2")),
        w2_codes(BytesOf<3>(call, "w2_codes")),
        picks(TensorOf<std::int32_t, 2>(call, "experts")),
        weights(TensorOf<float, 2>(call, "weights")) {}

  reference::ExpertTensors tensors() const { return {w13, w13_codes, w2, w2_codes}; }
  reference::Routing routing() const { return {picks, weights}; }
  Mx W13(std::int64_t e) const {
    return {ElementFormat::kE2m1, w13.chip(e, 0), w13_codes.chip(e, 0)};
  }
  Mx W2(std::int64_t e) const { return {ElementFormat::kE2m1, w2.chip(e, 0), w2_codes.chip(e, 0)}; }
  bool Has(std::int64_t e) const { return e >= 0 && e < w13.dimension(0); }
};

// Picks of experts that there are, and now and then of one that there is not.
void FillPicks(Data, const Call& call, std::mt19937_64& random) {
  const auto count = static_cast<std::uint64_t>(call["E"]);
  for (std::int64_t i = 0; i < call.At("experts").elements; ++i) {
    const std::uint64_t draw = random();
    call.Data<std::int32_t>("experts")[i] =
        static_cast<std::int32_t>(draw >> 40) % 8 == 0
            ? static_cast<std::int32_t>(count) - 1 + static_cast<std::int32_t>(draw % 3)
            : static_cast<std::int32_t>(draw % count);
  }
}

Tensor<Bf16, 2> Row(const Tensor<Bf16, 2>& x, std::int64_t row) {
  return x.slice(std::array<std::int64_t, 2>{row, 0},
                 std::array<std::int64_t, 2>{1, x.dimension(1)});
}

Tensor<Bf16, 2> Activated(const Swiglu& swiglu, const Tensor<float, 2>& sums) {
  Tensor<Bf16, 2> y(1, sums.dimension(1) / 2);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y(0, i) = reference::Activate(swiglu, sums(0, i), sums(0, y.size() + i));
  }
  return y;
}

// The two GEMVs of a target, each of one row.
struct Target {
  const char* name;
  ElementFormat format;
  reference::QuantizeOptions (*options)();
  Sums (*up_gate)(const MxMatrix& x, const MxMatrix& w);
  Sums (*down)(const MxMatrix& x, const MxMatrix& w);
  absl::StatusOr<reference::MoeOutput> (*whole)(const Tensor<Bf16, 2>&,
                                                const reference::ExpertTensors&,
                                                const reference::Routing&, const Tensor<Bf16, 2>*);
};

Sums Multiply(const Target& target, decltype(Target::down) gemv, const Tensor<Bf16, 2>& row,
              const Mx& w) {
  LANEWISE_ASSIGN_OR_RETURN(const auto q, reference::Quantize(row, target.options()));
  return gemv(MxMatrix{target.format, q.elements, q.codes}, w.view());
}

absl::Status PickByPick(const Target& target, const Call& call) {
  const Experts experts(call);
  const auto x = TensorOf<Bf16, 2>(call, "x");
  std::uint32_t skipped = 0;
  if (call["K"] % 64 != 0 || call["inter"] % 32 != 0) {
    return InvalidArgument("K is a multiple of 64, inter one of 32");
  }
  for (std::int64_t token = 0; token < call["T"]; ++token) {
    std::vector<Bf16> sum(static_cast<std::size_t>(call["K"]), Bf16::FromFloat(0));
    for (std::int64_t slot = 0; slot < call["top"]; ++slot) {
      const std::int64_t e = experts.picks(token, slot);
      if (!experts.Has(e)) {
        ++skipped;
        continue;
      }
      const Sums gate_up = Multiply(target, target.up_gate, Row(x, token), experts.W13(e));
      if (!gate_up.ok()) return gate_up.status();
      const Sums down =
          Multiply(target, target.down, Activated(kDeepSeekSwiglu, *gate_up), experts.W2(e));
      if (!down.ok()) return down.status();
      for (std::int64_t h = 0; h < call["K"]; ++h) {
        const Bf16 part = Bf16::FromFloat((*down)(0, h) * experts.weights(token, slot));
        Bf16& at = sum[static_cast<std::size_t>(h)];
        at = Bf16::FromFloat(at.ToFloat() + part.ToFloat());
      }
    }
    for (std::int64_t h = 0; h < call["K"]; ++h) {
      const std::int64_t i = token * call["K"] + h;
      const Bf16 routed = sum[static_cast<std::size_t>(h)];
      call.Data<Bf16>("out")[i] =
          call["shared"] == 0
              ? routed
              : Bf16::FromFloat(routed.ToFloat() + call.Data<Bf16>("shared")[i].ToFloat());
    }
  }
  *call.Data<std::uint32_t>("skipped") = skipped;
  return absl::OkStatus();
}

absl::Status StoreMoe(const Call& call, const absl::StatusOr<reference::MoeOutput>& moe) {
  if (!moe.ok()) return moe.status();
  Store(call, "out", moe->out);
  *call.Data<std::uint32_t>("skipped") = static_cast<std::uint32_t>(moe->skipped);
  return absl::OkStatus();
}

// Scale codes that keep sums where the activation is not flat.
Argument Codes(const char* name, std::vector<std::string> extents) {
  const auto generate = [name](Data data, const Call& call, std::mt19937_64& random) {
    Operand operand = call.At(name);
    Argument plain = *operand.argument;
    plain.generate = {};
    operand.argument = &plain;
    Fill(data, operand, call, random);
    if (data != Data::kNormal) return;
    for (std::uint8_t& code : call.Bytes(name)) code = static_cast<std::uint8_t>(code - 5);
  };
  return {.name = name, .format = "e8m0", .extents = std::move(extents), .generate = generate};
}

Operation MoeOperation(const std::string& name) {
  Operation operation;
  operation.name = name;
  operation.arguments = {
      {.name = "x", .format = "bf16", .extents = {"T", "K"}},
      {.name = "w13", .format = "e2m1", .extents = {"E", "2 * inter", "K"}},
      Codes("w13_codes", {"E", "2 * inter", "K / 32"}),
      {.name = "w2", .format = "e2m1", .extents = {"E", "K", "inter"}},
      Codes("w2_codes", {"E", "K", "inter / 32"}),
      {.name = "experts", .format = "i32", .extents = {"T", "top"}, .generate = FillPicks},
      {.name = "weights", .format = "f32", .extents = {"T", "top"}},
      {.name = "out",
       .format = "bf16",
       .role = Role::kOutput,
       .extents = {"T", "K"},
       .contract = Contract::kNumbers},
      {.name = "skipped", .format = "u32", .role = Role::kOutput, .extents = {"1"}}};
  operation.data = {Data::kNormal, Data::kRandomBits, Data::kSubnormals, Data::kNan,
                    Data::kExtremeScales};
  return operation;
}

Operation Routed(const Target& target) {
  Operation operation = MoeOperation(absl::StrCat("planned/", target.name, "/routed_experts"));
  operation.dimensions = {{"T"}, {"top"}, {"E"}, {"K"}, {"inter"}, {"shared", {"without", "with"}}};
  operation.shapes =
      "T=3 top=2 E=4 K=128 inter=32,96 shared=*\n"
      "random 4: T=0..6 top=1..4 E=1..5 K=64*{1..4} inter=32*{1..3} shared=*\n"
      "T=1 top=1 E=2 K=64 inter=40 shared=without  # refused";
  operation.arguments.insert(operation.arguments.begin() + 7,
                             {.name = "shared", .format = "bf16", .extents = {"shared * T", "K"}});
  operation.reference = [target](const Call& call) { return PickByPick(target, call); };
  operation.host = [target](const Call& call) {
    const Experts experts(call);
    const auto shared = TensorOf<Bf16, 2>(call, "shared");
    return StoreMoe(call, target.whole(TensorOf<Bf16, 2>(call, "x"), experts.tensors(),
                                       experts.routing(), call["shared"] == 1 ? &shared : nullptr));
  };
  return operation;
}

const Registration kRouted942(Routed(
    {"gfx942", ElementFormat::kE4m3Fnuz, reference::gfx942::RoutedActivationOptions,
     [](const MxMatrix& x, const MxMatrix& w) { return reference::gfx942::UpGateGemv(x, w); },
     reference::gfx942::DownGemv, reference::gfx942::RoutedExperts}));
const Registration kRouted950(Routed(
    {"gfx950", ElementFormat::kE4m3Fn, reference::gfx950::RoutedActivationOptions,
     [](const MxMatrix& x, const MxMatrix& w) { return reference::gfx950::UpGateGemv(x, w); },
     reference::gfx950::DownGemv, reference::gfx950::RoutedExperts}));

// ---- A16W4 ----

// One token in one expert, [1, K] float32.
Sums A16w4Row(const Experts& experts, const Tensor<Bf16, 2>& row, std::int64_t e) {
  const Mx w13 = experts.W13(e), w2 = experts.W2(e);
  const Sums gate_up = reference::gfx950::A16w4UpGate(row, w13.view());
  if (!gate_up.ok()) return gate_up.status();
  return reference::gfx950::A16w4Down(Activated(kGptOssSwiglu, *gate_up), w2.view());
}

// The shared expert, which is the first, then a token's picks in their order, bf16 at every sum.
absl::Status A16w4ByHand(const Call& call) {
  const Experts experts(call);
  const auto x = TensorOf<Bf16, 2>(call, "x");
  const std::int64_t k = call["K"];
  if (k % 256 != 0 || call["inter"] % 256 != 0) {
    return InvalidArgument("K and inter are multiples of 256");
  }
  std::uint32_t skipped = 0;
  for (std::int64_t token = 0; token < call["T"]; ++token) {
    std::vector<Bf16> sum(static_cast<std::size_t>(k), Bf16::FromFloat(0));
    if (call["shared"] == 1) {
      const Sums c = A16w4Row(experts, Row(x, token), 0);
      if (!c.ok()) return c.status();
      for (std::size_t h = 0; h < sum.size(); ++h) sum[h] = Bf16::FromFloat(c->data()[h]);
    }
    for (std::int64_t slot = 0; slot < call["top"]; ++slot) {
      const std::int64_t e = experts.picks(token, slot);
      if (!experts.Has(e)) {
        ++skipped;
        continue;
      }
      const Sums c = A16w4Row(experts, Row(x, token), e);
      if (!c.ok()) return c.status();
      for (std::size_t h = 0; h < sum.size(); ++h) {
        const Bf16 part = Bf16::FromFloat(c->data()[h] * experts.weights(token, slot));
        sum[h] = Bf16::FromFloat(sum[h].ToFloat() + part.ToFloat());
      }
    }
    std::copy(sum.begin(), sum.end(), call.Data<Bf16>("out") + token * k);
  }
  *call.Data<std::uint32_t>("skipped") = skipped;
  return absl::OkStatus();
}

const Registration kA16w4([] {
  Operation operation = MoeOperation("planned/gfx950/a16w4_moe");
  operation.dimensions = {{"T"}, {"top"}, {"E"}, {"K"}, {"inter"}, {"shared", {"without", "with"}}};
  operation.shapes =
      "T=2 top=2 E=4 K=256 inter=512 shared=*\n"
      "T=5 top=2 E=3 K=256 inter=256 shared=*\n"
      "random 3: T=0..6 top=1..3 E=1..5 K=256 inter=256*{1,2} shared=*\n"
      "T=1 top=1 E=2 K=256 inter=128 shared=without  # refused\n"
      "T=1 top=1 E=2 K=128 inter=256 shared=without  # refused";
  operation.reference = A16w4ByHand;
  operation.host = [](const Call& call) {
    const Experts experts(call);
    return StoreMoe(call, reference::gfx950::A16w4Moe(
                              TensorOf<Bf16, 2>(call, "x"), experts.tensors(), experts.routing(),
                              call["shared"] == 1 ? std::optional<std::int64_t>(0) : std::nullopt));
  };
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
