// Preparation of MXFP4 experts in weights/ against reference/, all of them or a rank's part, and
// back: gfx942's padded copies and AITER's order.

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "reference/aiter/shuffle.h"
#include "reference/gfx942/moe.h"
#include "reference/gfx942/pad_experts.h"
#include "tests/differential/matrices.h"
#include "tests/differential/prepared.h"
#include "weights/gfx942/experts.h"
#include "weights/gfx950/experts.h"

namespace lanewise::differential {
namespace {

using Bytes3 = Tensor<std::uint8_t, 3>;
using Triple = std::array<std::int64_t, 3>;

// The last experts of `ranks` parts, the last columns of inter of `tp` parts.
struct Part {
  std::int64_t experts, inter, first, begin;

  explicit Part(const Call& call)
      : experts(call["E"] / call["ranks"]),
        inter(call["inter"] / call["tp"]),
        first(call["E"] - experts),
        begin(call["inter"] - inter) {}
};

// Of w13 or its codes, gate rows before up rows.
Bytes3 GateUpPart(const Bytes3& t, const Part& part, std::int64_t inter) {
  const std::int64_t columns = t.dimension(2);
  const Triple size = {part.experts, part.inter, columns};
  Bytes3 cut(part.experts, 2 * part.inter, columns);
  cut.slice(Triple{0, 0, 0}, size) = t.slice(Triple{part.first, part.begin, 0}, size);
  cut.slice(Triple{0, part.inter, 0}, size) =
      t.slice(Triple{part.first, inter + part.begin, 0}, size);
  return cut;
}

// Of w2 or its codes, `elements` a byte.
Bytes3 DownPart(const Bytes3& t, const Part& part, std::int64_t elements) {
  return t.slice(Triple{part.first, 0, part.begin / elements},
                 Triple{part.experts, t.dimension(1), part.inter / elements});
}

absl::Status Reference(const Call& call, bool is_gfx942) {
  FillOutputs(call);
  const std::int64_t hidden = call["hidden"], inter = call["inter"], out = call["out"];
  const Part part(call);
  if (hidden % 32 != 0 || inter % 32 != 0 || part.inter % 32 != 0) {
    return InvalidArgument("hidden and inter are multiples of 32");
  }
  const reference::gfx942::Experts plain = {GateUpPart(BytesOf<3>(call, "w13"), part, inter),
                                            GateUpPart(BytesOf<3>(call, "s13"), part, inter),
                                            DownPart(BytesOf<3>(call, "w2"), part, 2),
                                            DownPart(BytesOf<3>(call, "s2"), part, 32)};
  if (is_gfx942) {
    LANEWISE_ASSIGN_OR_RETURN(const auto padded, reference::gfx942::PadExperts(plain));
    LANEWISE_ASSIGN_OR_RETURN(const auto copied,
                              reference::gfx942::MoeCopies(padded, padded.w2.dimension(2) * 2));
    Store(call, "out13", copied.experts.w13);
    Store(call, "outs13", copied.experts.w13_codes);
    Store(call, "out2", copied.experts.w2);
    Store(call, "outs2", copied.experts.w2_codes);
  } else {
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
  }
  // What comes back: the part's rows of gate and up, and its columns of down.
  for (std::int64_t e = part.first; e < call["E"]; ++e) {
    for (std::int64_t half = 0; half < 2; ++half) {
      const std::int64_t row = (2 * e + half) * inter + part.begin;
      CopyPart(call, "w13", "w13_again", hidden / 2, row, part.inter, 0, hidden / 2);
      CopyPart(call, "s13", "s13_again", hidden / 32, row, part.inter, 0, hidden / 32);
    }
    CopyPart(call, "w2", "w2_again", inter / 2, e * out, out, part.begin / 2, part.inter / 2);
    CopyPart(call, "s2", "s2_again", inter / 32, e * out, out, part.begin / 32, part.inter / 32);
  }
  return absl::OkStatus();
}

GateUpSource GateUp(const Call& call, const Part& part) {
  const auto place = [part, inter = call["inter"]](int source, std::int64_t bytes) {
    return [=](std::int64_t e, int half, std::int64_t i) {
      return RowPlace{source, (((part.first + e) * 2 + half) * inter + part.begin + i) * bytes};
    };
  };
  return {part.experts, call["hidden"], part.inter, place(0, call["hidden"] / 2),
          place(1, call["hidden"] / 32)};
}

DownSource Down(const Call& call, const Part& part) {
  const auto place = [part, out = call["out"], inter = call["inter"]](int source,
                                                                      std::int64_t elements) {
    return [=](std::int64_t e, std::int64_t i) {
      return RowPlace{source, (((part.first + e) * out + i) * inter + part.begin) / elements};
    };
  };
  return {part.experts, call["out"], part.inter, place(0, 2), place(1, 32)};
}

absl::Status Run(const Call& call, bool is_gfx942) {
  const Part part(call);
  const auto w13 = is_gfx942 ? gfx942::PlanGateUp(GateUp(call, part), {})
                             : gfx950::PlanGateUp(GateUp(call, part), GateUpRowOrder::kGateThenUp);
  const auto w2 =
      is_gfx942 ? gfx942::PlanDown(Down(call, part), {}) : gfx950::PlanDown(Down(call, part));
  if (!w13.ok()) return w13.status();
  if (!w2.ok()) return w2.status();
  FillOutputs(call);
  LANEWISE_RETURN_IF_ERROR(RunAndRestore(call, {"w13", "s13"},
                                         {{&w13->weight, "out13"}, {&w13->codes, "outs13"}},
                                         {"w13_again", "s13_again"}));
  return RunAndRestore(call, {"w2", "s2"}, {{&w2->weight, "out2"}, {&w2->codes, "outs2"}},
                       {"w2_again", "s2_again"});
}

Operation Experts(bool is_gfx942) {
  Operation operation;
  operation.name = is_gfx942 ? "prepare/gfx942/experts" : "prepare/gfx950/experts";
  operation.dimensions = {{"E"}, {"hidden"}, {"inter"}, {"out"}, {"ranks"}, {"tp"}, {"threads"}};
  operation.shapes =
      "E=1,3 hidden=256,576 inter=64 out=16,48 ranks=1 tp=1 threads=1,3\n"
      // A step of 32 bytes at the end of w2's rows.
      "E=1 hidden=256 inter=576 out=16,48 ranks=1 tp=1 threads=1,3\n"
      // Both padded on gfx942; a range of experts; the last half of inter, and padded.
      "E=4 hidden=288,512 inter=192 out=32 ranks=1,2 tp=1,2 threads=3\n"
      // gpt-oss, whose sizes are padded; few rows.
      "E=1 hidden=2880 inter=64 out=16 ranks=1 tp=1 threads=1\n"
      "random 10: E=1..3 hidden=64*{1..10} inter=64*{1..5} out=16*{1..4} ranks=1 tp=1 "
      "threads=1,3\n"
      "random 6: E=2*{1..3} hidden=64*{1..8} inter=64*{1..5} out=16*{1..4} ranks=1,2 tp=1,2 "
      "threads=1,3\n"
      "E=1 hidden=272 inter=64 out=16 ranks=1 tp=1 threads=1  # refused, as the next\n"
      "E=1 hidden=256 inter=64 out=24 ranks=1 tp=1 threads=1";
  const std::string e = "E / ranks", inter = "inter / tp";
  const std::string k = is_gfx942 ? "roundup(hidden, 256)" : "hidden";
  const std::string i = is_gfx942 ? "roundup(inter / tp, 64)" : inter;
  const int limit = is_gfx942 ? 250 : 0;
  const auto add = [&](const std::string& name, const char* format, Role role,
                       std::vector<std::string> extents) {
    operation.arguments.push_back(
        {.name = name, .format = format, .role = role, .extents = std::move(extents)});
    if (role == Role::kInput && format == std::string("e8m0")) {
      operation.arguments.back().code_limit = limit;
    }
  };
  for (const auto& [role, again] : {std::pair(Role::kInput, ""), {Role::kOutput, "_again"}}) {
    add(absl::StrCat("w13", again), "e2m1", role, {"E", "2 * inter", "hidden"});
    add(absl::StrCat("s13", again), "e8m0", role, {"E", "2 * inter", "hidden / 32"});
    add(absl::StrCat("w2", again), "e2m1", role, {"E", "out", "inter"});
    add(absl::StrCat("s2", again), "e8m0", role, {"E", "out", "inter / 32"});
  }
  add("out13", "e2m1", Role::kOutput, {e, "2 * " + i, k});
  add("out2", "e2m1", Role::kOutput, {e, "out", i});
  if (is_gfx942) {
    add("outs13", "e8m0", Role::kOutput, {e, "2 * " + i, k + " / 32"});
    add("outs2", "e8m0", Role::kOutput, {e, "out", i + " / 32"});
  } else {
    add("outs13", "e8m0", Role::kOutput,
        {"roundup(E / ranks * 2 * (inter / tp), 256)", "roundup(hidden / 32, 8)"});
    add("outs2", "e8m0", Role::kOutput,
        {"roundup(E / ranks * out, 256)", "roundup(inter / tp / 32, 8)"});
  }
  // Rows of all experts together, bytes of two elements.
  for (Argument& argument : operation.arguments) {
    const bool gate_up = argument.name == "out13" || argument.name == "outs13";
    const std::string rows = e + (gate_up ? " * 2 * (" + i + ")" : " * out");
    const std::string bytes = (gate_up ? k : "(" + i + ")") + " / 2";
    if (argument.name == "out13" || argument.name == "out2") {
      argument.layout =
          InLayout(is_gfx942 ? "gfx942/fp4_tile_major" : "aiter/shuffle_weight_16x16", rows, bytes);
    } else if (argument.name == "outs13" && is_gfx942) {
      argument.layout = InLayout("gfx942/codes_tile_rounds", rows, k + " / 32", "8");
    } else if (argument.name.substr(0, 4) == "outs" && !is_gfx942) {
      argument.layout = InLayout("aiter/e8m0_shuffle", argument.extents[0], argument.extents[1]);
    }
  }
  operation.data = {Data::kIota, Data::kRandomBits, Data::kNegativeZeros, Data::kExtremeScales};
  operation.reference = [is_gfx942](const Call& call) { return Reference(call, is_gfx942); };
  operation.host = [is_gfx942](const Call& call) { return Run(call, is_gfx942); };
  return operation;
}

const Registration kGfx942(Experts(true));
const Registration kGfx950(Experts(false));

}  // namespace
}  // namespace lanewise::differential
