// gfx942's routed MXFP4 experts over prepared weights: up/gate with its activation, and down with
// the sum over a token's picks.

#include "reference/gfx942/moe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/formats.h"
#include "hip/gfx942/moe_down.h"
#include "hip/gfx942/moe_problem.h"
#include "hip/gfx942/moe_up_gate.h"
#include "hip/hip_api.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/output.h"
#include "reference/gfx942/moe_semantics.h"
#include "reference/quantize/mx.h"
#include "tests/differential/data.h"
#include "tests/differential/loaded.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {
namespace {

namespace judge = reference::gfx942;
using hip::gfx942::MoeDown;
using hip::gfx942::MoeProblem;
using hip::gfx942::MoeUpGate;

using Bytes2 = Tensor<std::uint8_t, 2>;
using Bytes3 = Tensor<std::uint8_t, 3>;

// Up/gate leaves some of its outputs as they are: the rows of picks of no expert, blocks past Ip,
// groups that there are not. Before it runs, every output byte is this.
constexpr std::uint8_t kLeft = 0x11;

MoeProblem ProblemOf(const Call& call) {
  MoeProblem p;
  p.tokens = call["T"];
  p.top_k = call["top"];
  p.experts = call["E"];
  p.hidden = call["hidden"];
  p.inter = call["inter"];
  if (call["swiglu"] == 1) p.swiglu = hip::gfx942::kGptOssSwiglu;
  return p;
}

absl::Status CheckShape(const MoeProblem& p) {
  if (p.top_k < 1 || p.top_k > 16) return absl::InvalidArgumentError("1 to 16 picks a token");
  if (p.hidden % 32 != 0 || p.inter % 32 != 0) {
    return absl::InvalidArgumentError("hidden and inter are multiples of 32");
  }
  return absl::OkStatus();
}

// ---- the inputs ----

// As the engine does where there is no generator.
void FillPlainly(Data data, const Call& call, std::string_view name, std::mt19937_64& random) {
  Operand operand = call.At(name);
  Argument argument = *operand.argument;
  argument.generate = {};
  operand.argument = &argument;
  Fill(data, operand, call, random);
}

// Packed e2m1 as it is prepared: without -0.
Argument PreparedFp4(const std::string& name, std::vector<std::string> extents) {
  const auto generate = [name](Data data, const Call& call, std::mt19937_64& random) {
    FillPlainly(data, call, name, random);
    const Operand& operand = call.At(name);
    for (std::int64_t i = 0; i < operand.elements; ++i) {
      if (GetBits(4, operand.data, i) == 8) SetBits(4, operand.data, i, 0);
    }
  };
  return {.name = name, .format = "e2m1", .extents = std::move(extents), .generate = generate};
}

// Of ordinary numbers `lower` less than the engine's, so that sums of a model's K stay where the
// activation is not flat.
Argument WeightCodes(const std::string& name, std::vector<std::string> extents, int lower) {
  const auto generate = [name, lower](Data data, const Call& call, std::mt19937_64& random) {
    FillPlainly(data, call, name, random);
    if (data != Data::kNormal) return;
    for (std::uint8_t& code : call.Bytes(name)) code = static_cast<std::uint8_t>(code - lower);
  };
  return {.name = name, .format = "e8m0", .extents = std::move(extents), .generate = generate};
}

// Each kind of data is another routing.
void FillExperts(Data data, const Call& call, std::mt19937_64& random) {
  const std::int64_t count = call["E"], top_k = call["top"], picks = call["T"] * top_k;
  const std::int64_t outside[] = {-1,
                                  count,
                                  count + 1,
                                  256 + count,
                                  std::numeric_limits<std::int32_t>::min(),
                                  std::numeric_limits<std::int32_t>::max()};
  auto* const experts = call.Data<std::int32_t>("experts");
  for (std::int64_t i = 0; i < picks; ++i) {
    const std::uint64_t drawn = random();
    std::int64_t expert = static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(count));
    const std::int64_t none = outside[drawn / 65536 % std::size(outside)];
    switch (data) {
      case Data::kRandomBits:  // some of no expert
        if (drawn >> 61 == 0) expert = none;
        break;
      case Data::kNan:  // the last token has none at all
        if (i / top_k == call["T"] - 1) expert = none;
        break;
      case Data::kExtremeScales:  // all the same
        expert = count - 1;
        break;
      case Data::kOneHot:  // as many as there are
        expert = i % count;
        break;
      case Data::kNegativeZeros:
        expert = count - 1 - i % count;
        break;
      default:
        break;
    }
    experts[i] = static_cast<std::int32_t>(expert);
  }
}

std::vector<std::int64_t> PicksOf(const Call& call, std::int64_t expert) {
  std::vector<std::int64_t> picks;
  for (std::int64_t i = 0; i < call["T"] * call["top"]; ++i) {
    if (call.Data<std::int32_t>("experts")[i] == expert) picks.push_back(i);
  }
  return picks;
}

bool Exists(const Call& call, std::int64_t pick) {
  const std::int32_t expert = call.Data<std::int32_t>("experts")[pick];
  return expert >= 0 && expert < call["E"];
}

// The picks by expert (hip/gfx942/moe_arguments.h): the number of groups in 16 bytes, of which the
// other 12 are not written; groups of {expert, first, count, 0}; after as many of those as there
// can be, the picks.
void Group(const Call& call) {
  auto* const words = call.Data<std::uint32_t>("grouping");
  auto* const order = words + 4 + 4 * std::min(call["T"] * call["top"], call["E"]);
  std::uint32_t groups = 0, first = 0;
  for (std::int64_t expert = 0; expert < call["E"]; ++expert) {
    const std::vector<std::int64_t> picks = PicksOf(call, expert);
    if (picks.empty()) continue;
    const auto count = static_cast<std::uint32_t>(picks.size());
    const std::uint32_t group[4] = {static_cast<std::uint32_t>(expert), first, count, 0};
    std::copy_n(group, 4, words + 4 + 4 * groups++);
    for (const std::int64_t pick : picks) order[first++] = static_cast<std::uint32_t>(pick);
  }
  words[0] = groups;
}

// Groups that there are not would put the last expert's contribution in the first's place.
void FillGrouping(Data, const Call& call, std::mt19937_64&) {
  const std::span<std::uint8_t> bytes = call.Bytes("grouping");
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  auto* const words = call.Data<std::uint32_t>("grouping");
  for (std::int64_t i = 0; i < std::min(call["T"] * call["top"], call["E"]); ++i) {
    words[4 + 4 * i] = static_cast<std::uint32_t>(call["E"] - 1);
    words[4 + 4 * i + 2] = 1;
  }
  Group(call);
}

// ---- what the references read ----

Bytes3 BytesOf(const Call& call, std::string_view name, int elements_a_byte) {
  const Operand& operand = call.At(name);
  Bytes3 bytes(operand.extents[0], operand.extents[1], operand.extents[2] / elements_a_byte);
  std::memcpy(bytes.data(), operand.data, static_cast<std::size_t>(operand.bytes));
  return bytes;
}

Bytes3 Zeros(std::int64_t a, std::int64_t b, std::int64_t c) {
  Bytes3 bytes(a, b, c);
  bytes.setZero();
  return bytes;
}

// A matrix and its codes.
struct Mx {
  reference::ElementFormat format;
  Bytes2 elements, codes;

  reference::MxMatrix view() const { return {format, elements, codes}; }
};

Mx ExpertMatrix(const Bytes3& bytes, const Bytes3& codes, std::int64_t expert) {
  return {reference::ElementFormat::kE2m1, bytes.chip(expert, 0), codes.chip(expert, 0)};
}

// Where a quantized row has its column: a step of 128, then lane groups, blocks, and of eight
// columns the even ones first.
std::int64_t RowOffset(std::int64_t column) {
  const std::int64_t block = column / 32, in = column % 32;
  return 128 * (block / 4) + 32 * (in / 8) + 8 * (block % 4) + in % 2 * 4 + in % 8 / 2;
}

// ---- up/gate ----

// An activated row: its nearest values, and as tolerances what it may be where exp2 and rcp are
// the chip's: any value of ActivationRange, with any code that one of the ends or the nearest has.
// Nearly always they are all the same, and the tolerance is 0.
struct ActivatedRow {
  reference::Quantized nearest;  // rows: the nearest, the lowest, the highest
  Tensor<Bf16, 2> y;

  double Element(std::int64_t end, std::int64_t column, int code) const {
    const float scaled = std::ldexp(y(end, column).ToFloat(), 127 - code);
    return E4m3Fnuz::FromFloat(std::clamp(scaled, -224.0f, 224.0f)).ToFloat();
  }
  double CodeTolerance(std::int64_t block) const {
    const int code = nearest.codes(0, block);
    double tolerance = 0;
    for (const std::int64_t end : {1, 2}) {
      const int other = nearest.codes(end, block);
      if (other == code) continue;
      if (other == 255 || code == 255) return std::numeric_limits<double>::infinity();
      tolerance = std::max(tolerance,
                           std::fabs(std::ldexp(1.0, other - 127) - std::ldexp(1.0, code - 127)));
    }
    return tolerance;
  }
  double ElementTolerance(std::int64_t column) const {
    const std::int64_t block = column / 32;
    if (std::isinf(CodeTolerance(block))) return CodeTolerance(block);
    if (nearest.codes(0, block) == 255) return 0;
    const double is = E4m3Fnuz::FromBits(nearest.elements(0, column)).ToFloat();
    double tolerance = 0;
    for (const std::int64_t of : {0, 1, 2}) {
      for (const std::int64_t end : {1, 2}) {
        tolerance =
            std::max(tolerance, std::fabs(Element(end, column, nearest.codes(of, block)) - is));
      }
    }
    return tolerance;
  }
};

// `sums` are gate's, then up's.
absl::StatusOr<ActivatedRow> Activated(const reference::Swiglu& swiglu,
                                       const Tensor<float, 2>& sums, std::int64_t row) {
  const std::int64_t inter = sums.dimension(1) / 2;
  ActivatedRow activated;
  activated.y.resize(3, inter);
  for (std::int64_t i = 0; i < inter; ++i) {
    const float gate = sums(row, i), up = sums(row, inter + i);
    const reference::Bf16Range range = reference::ActivationRange(swiglu, gate, up);
    activated.y(0, i) = reference::Activate(swiglu, gate, up);
    activated.y(1, i) = range.low;
    activated.y(2, i) = range.high;
  }
  absl::StatusOr<reference::Quantized> quantized =
      reference::Quantize(activated.y, judge::RoutedActivationOptions());
  if (!quantized.ok()) return quantized.status();
  activated.nearest = *std::move(quantized);
  return activated;
}

// On the whole padded K, where x is zero.
absl::Status UpGateReference(const Call& call) {
  const MoeProblem p = ProblemOf(call);
  if (absl::Status status = CheckShape(p); !status.ok()) return status;
  const std::array<std::string_view, 4> outputs = {"grouping", "mid", "mid_codes", "status"};
  for (const std::string_view name : outputs) {
    const std::span<std::uint8_t> bytes = call.Bytes(name);
    std::fill(bytes.begin(), bytes.end(), kLeft);
  }
  if (p.tokens == 0) return absl::OkStatus();
  Group(call);
  for (std::int64_t pick = 0; pick < p.picks(); ++pick) {
    if (!Exists(call, pick)) ++*call.Data<std::uint32_t>("status");
  }

  const std::int64_t k = p.padded_hidden(), inter = p.padded_inter();
  Tensor<Bf16, 2> x(p.tokens, k);
  x.setConstant(Bf16::FromFloat(0.0f));
  for (std::int64_t token = 0; token < p.tokens; ++token) {
    for (std::int64_t i = 0; i < p.hidden; ++i) {
      x(token, i) = call.Data<Bf16>("x")[token * p.hidden + i];
    }
  }
  const auto q = reference::Quantize(x, judge::RoutedActivationOptions());
  if (!q.ok()) return q.status();
  const auto plain =
      judge::UndoMoeCopies({BytesOf(call, "w13", 2), BytesOf(call, "w13_codes", 1),
                            Zeros(p.experts, 16, inter / 2), Zeros(p.experts, 16, inter / 32)},
                           inter);
  if (!plain.ok()) return plain.status();

  const reference::Swiglu swiglu =
      call["swiglu"] == 1 ? reference::kGptOssSwiglu : reference::kDeepSeekSwiglu;
  const Operand& mid = call.At("mid");
  const Operand& codes = call.At("mid_codes");
  for (std::int64_t expert = 0; expert < p.experts; ++expert) {
    const std::vector<std::int64_t> picks = PicksOf(call, expert);
    if (picks.empty()) continue;
    const auto count = static_cast<std::int64_t>(picks.size());
    Mx rows = {reference::ElementFormat::kE4m3Fnuz, Bytes2(count, k), Bytes2(count, k / 32)};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t token = picks[static_cast<std::size_t>(i)] / p.top_k;
      rows.elements.chip(i, 0) = q->elements.chip(token, 0);
      rows.codes.chip(i, 0) = q->codes.chip(token, 0);
    }
    const Mx w13 = ExpertMatrix(plain->w13, plain->w13_codes, expert);
    const auto sums = judge::UpGateGemv(rows.view(), w13.view());
    if (!sums.ok()) return sums.status();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto row = Activated(swiglu, *sums, i);
      if (!row.ok()) return row.status();
      const std::int64_t pick = picks[static_cast<std::size_t>(i)];
      for (std::int64_t column = 0; column < inter; ++column) {
        const std::int64_t at = pick * mid.extents[1] + RowOffset(column);
        call.Data<std::uint8_t>("mid")[at] = row->nearest.elements(0, column);
        mid.tolerance[at] = row->ElementTolerance(column);
      }
      for (std::int64_t block = 0; block < inter / 32; ++block) {
        const std::int64_t at = pick * codes.extents[1] + block;
        call.Data<std::uint8_t>("mid_codes")[at] = row->nearest.codes(0, block);
        codes.tolerance[at] = row->CodeTolerance(block);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status UpGateLaunch(const Call& call) {
  const absl::StatusOr<const MoeUpGate*> up_gate = Loaded<MoeUpGate>(*call.device);
  if (!up_gate.ok()) return up_gate.status();
  for (const Operand& operand : call.operands) {
    if (operand.argument->role != Role::kOutput || operand.bytes == 0) continue;
    const hipError_t error = hipMemsetAsync(
        operand.data, kLeft, static_cast<std::size_t>(operand.bytes), call.stream->handle());
    if (error != hipSuccess) {
      return absl::InternalError(
          absl::StrCat("filling ", operand.argument->name, ": ", hipGetErrorString(error)));
    }
  }
  return (*up_gate)->Launch(ProblemOf(call),
                            {call.Data("x"), call.Data("experts"), call.Data("w13"),
                             call.Data("w13_codes"), call.Data("grouping"), call.Data("mid"),
                             call.Data("mid_codes"), call.Data("status"), call.Data("workspace")},
                            *call.stream);
}

const std::vector<Data> kData = {Data::kRandomBits,    Data::kNormal, Data::kSubnormals,
                                 Data::kNegativeZeros, Data::kNan,    Data::kExtremeScales,
                                 Data::kOneHot};
const Argument kExperts = {
    .name = "experts", .format = "i32", .extents = {"T", "top"}, .generate = FillExperts};
// What BytesBetween says.
const std::vector<std::string> kGroupingWords = {"4 + 4 * min(T * top, E) + T * top"};
const std::vector<std::string> kMid = {"T * top", "roundup(inter, 128)"};
const std::vector<std::string> kMidCodes = {"T * top", "roundup(inter, 128) / 32"};

const Registration kUpGate([] {
  Operation operation;
  operation.name = "gfx942/moe_up_gate";
  operation.dimensions = {{"T"},      {"top"},   {"E"},
                          {"hidden"}, {"inter"}, {"swiglu", {"deepseek", "gpt_oss"}}};
  operation.shapes =
      "T=3 top=2 E=4 hidden=256,544 inter=32,64,160 swiglu=*\n"
      "T=1,17 top=1,3 E=2 hidden=32 inter=32 swiglu=deepseek\n"
      // More picks than a workgroup has work-items. (As many experts are moe_test's: 5 MiB of
      // weights for each kind of data.)
      "T=30 top=10 E=3 hidden=32 inter=32 swiglu=deepseek\n"
      // The hidden sizes of the models' table, K whole.
      "T=2 top=1 E=2 hidden=4096,5120,7168 inter=32 swiglu=deepseek\n"
      "T=2 top=1 E=2 hidden=2880,6144 inter=32 swiglu=gpt_oss\n"
      "random 4: T=1..6 top=1..16 E=1..6 hidden=32*{1..16} inter=32*{1..5} swiglu=*\n"
      "T=0 top=2 E=3 hidden=64 inter=32 swiglu=deepseek\n"
      "T=1 top=17 E=3 hidden=64 inter=32 swiglu=deepseek  # refused, as the next two\n"
      "T=1 top=2 E=3 hidden=48 inter=32 swiglu=deepseek\n"
      "T=1 top=2 E=3 hidden=64 inter=40 swiglu=deepseek";
  const std::string k = "roundup(hidden, 256)", rows = "2 * roundup(inter, 64)";
  operation.arguments = {
      {.name = "x", .format = "bf16", .extents = {"T", "hidden"}},
      kExperts,
      PreparedFp4("w13", {"E", rows, k}),
      WeightCodes("w13_codes", {"E", rows, k + " / 32"}, 7),
      {.name = "grouping", .format = "u32", .role = Role::kOutput, .extents = kGroupingWords},
      {.name = "mid",
       .format = "e4m3fnuz",
       .role = Role::kOutput,
       .extents = kMid,
       .contract = Contract::kWithin},
      {.name = "mid_codes",
       .format = "e8m0",
       .role = Role::kOutput,
       .extents = kMidCodes,
       .contract = Contract::kWithin},
      {.name = "status", .format = "u32", .role = Role::kOutput, .extents = {"1"}},
      {.name = "workspace",
       .format = "u8",
       .role = Role::kWorkspace,
       .extents = {"T * (" + k + " + " + k + " / 32)"}},
  };
  operation.data = kData;
  operation.chips = {"gfx942"};
  operation.reference = UpGateReference;
  operation.device = UpGateLaunch;
  return operation;
}());

// ---- down ----

absl::Status DownReference(const Call& call) {
  const MoeProblem p = ProblemOf(call);
  if (absl::Status status = CheckShape(p); !status.ok()) return status;
  if (p.tokens == 0) return absl::OkStatus();
  const std::int64_t inter = p.padded_inter();
  const auto plain =
      judge::UndoMoeCopies({Zeros(p.experts, 2 * inter, 128), Zeros(p.experts, 2 * inter, 8),
                            BytesOf(call, "w2", 2), BytesOf(call, "w2_codes", 1)},
                           inter);
  if (!plain.ok()) return plain.status();

  const std::int64_t row_bytes = call.At("mid").extents[1];
  Tensor<float, 2> contributions(p.picks(), p.hidden);
  for (std::int64_t expert = 0; expert < p.experts; ++expert) {
    const std::vector<std::int64_t> picks = PicksOf(call, expert);
    if (picks.empty()) continue;
    const auto count = static_cast<std::int64_t>(picks.size());
    Mx mid = {reference::ElementFormat::kE4m3Fnuz, Bytes2(count, inter), Bytes2(count, inter / 32)};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t pick = picks[static_cast<std::size_t>(i)];
      for (std::int64_t column = 0; column < inter; ++column) {
        mid.elements(i, column) =
            call.Data<std::uint8_t>("mid")[pick * row_bytes + RowOffset(column)];
      }
      for (std::int64_t block = 0; block < inter / 32; ++block) {
        mid.codes(i, block) = call.Data<std::uint8_t>("mid_codes")[pick * row_bytes / 32 + block];
      }
    }
    const Mx w2 = ExpertMatrix(plain->w2, plain->w2_codes, expert);
    const auto sums = judge::DownGemv(mid.view(), w2.view());
    if (!sums.ok()) return sums.status();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t pick = picks[static_cast<std::size_t>(i)];
      for (std::int64_t h = 0; h < p.hidden; ++h) {
        contributions(pick, h) =
            reference::RoundToBf16((*sums)(i, h) * call.Data<float>("weights")[pick]).ToFloat();
      }
    }
  }
  for (std::int64_t token = 0; token < p.tokens; ++token) {
    for (std::int64_t h = 0; h < p.hidden; ++h) {
      float sum = 0;
      for (std::int64_t pick = token * p.top_k; pick < (token + 1) * p.top_k; ++pick) {
        if (!Exists(call, pick)) continue;
        sum = reference::RoundToBf16(sum + contributions(pick, h)).ToFloat();
      }
      if (call["shared"] == 1) sum += call.Data<Bf16>("shared")[token * p.hidden + h].ToFloat();
      call.Data<Bf16>("out")[token * p.hidden + h] = reference::RoundToBf16(sum);
    }
  }
  return absl::OkStatus();
}

absl::Status DownLaunch(const Call& call) {
  const absl::StatusOr<const MoeDown*> down = Loaded<MoeDown>(*call.device);
  if (!down.ok()) return down.status();
  return (*down)->Launch(
      ProblemOf(call),
      {call.Data("grouping"), call.Data("mid"), call.Data("mid_codes"), call.Data("experts"),
       call.Data("weights"), call.Data("w2"), call.Data("w2_codes"),
       call["shared"] == 1 ? call.Data("shared") : nullptr, call.Data("out"),
       call.Data("workspace")},
      *call.stream);
}

const Registration kDown([] {
  Operation operation;
  operation.name = "gfx942/moe_down";
  operation.dimensions = {{"T"},      {"top"},   {"E"},
                          {"hidden"}, {"inter"}, {"shared", {"without", "with"}}};
  operation.shapes =
      "T=3 top=4 E=4 hidden=96,288 inter=32,64,128,160 shared=*\n"
      "T=1,17 top=1,3 E=2 hidden=32 inter=32 shared=with\n"
      // More picks, and more experts, than a workgroup has work-items.
      "T=30 top=10 E=300 hidden=32 inter=32 shared=with\n"
      // The intermediate sizes of the models' table, K whole: of a whole model and a rank's part.
      "T=2 top=1 E=2 hidden=64 inter=384,512,576,736,768,1152,1440,2880 shared=with\n"
      "random 4: T=1..6 top=1..16 E=1..20 hidden=32*{1..10} inter=32*{1..8} shared=*\n"
      "T=0 top=2 E=3 hidden=64 inter=32 shared=with\n"
      "T=1 top=17 E=3 hidden=64 inter=32 shared=with  # refused, as the next two\n"
      "T=1 top=2 E=3 hidden=48 inter=32 shared=with\n"
      "T=1 top=2 E=3 hidden=64 inter=40 shared=with";
  const std::string k = "roundup(inter, 64)";
  operation.arguments = {
      kExperts,
      {.name = "grouping", .format = "u32", .extents = kGroupingWords, .generate = FillGrouping},
      {.name = "mid", .format = "e4m3fnuz", .extents = kMid},
      {.name = "mid_codes", .format = "e8m0", .extents = kMidCodes},
      {.name = "weights", .format = "f32", .extents = {"T", "top"}},
      PreparedFp4("w2", {"E", "hidden", k}),
      WeightCodes("w2_codes", {"E", "hidden", k + " / 32"}, 0),
      {.name = "shared", .format = "bf16", .extents = {"shared * T", "hidden"}},
      {.name = "out",
       .format = "bf16",
       .role = Role::kOutput,
       .extents = {"T", "hidden"},
       .contract = Contract::kNumbers},
      {.name = "workspace",
       .format = "u8",
       .role = Role::kWorkspace,
       .extents = {"2 * T * top * hidden"}},
  };
  operation.data = kData;
  operation.chips = {"gfx942"};
  operation.reference = DownReference;
  operation.device = DownLaunch;
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
