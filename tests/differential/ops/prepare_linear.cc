// Preparation of MXFP8 linears in weights/ against reference/, whole and a rank's part, and back:
// FlashMLA's permutations, gfx950's three kinds.

#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include "base/status.h"
#include "formats/formats.h"
#include "reference/block_codes.h"
#include "reference/flashmla/fused_layout.h"
#include "reference/gfx950/linear.h"
#include "tests/differential/matrices.h"
#include "tests/differential/prepared.h"
#include "weights/flashmla/fused_layout.h"
#include "weights/gfx950/linear.h"

namespace lanewise::differential {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;

// The last of `parts` equal runs of rows.
struct RowPart {
  std::int64_t row0, rows;

  RowPart(std::int64_t all, std::int64_t parts) : row0(all - all / parts), rows(all / parts) {}
  Bytes Of(const Bytes& tensor) const {
    return tensor.slice(std::array<std::int64_t, 2>{row0, 0},
                        std::array<std::int64_t, 2>{rows, tensor.dimension(1)});
  }
  LinearSource Of(LinearSource source) const {
    source.row_begin = row0;
    source.rows = rows;
    return source;
  }
};

// Codes of R rows each, of the rows.
Bytes RowCodes(const Bytes& scale, std::int64_t rows, std::int64_t r) {
  Bytes codes(rows, scale.dimension(1));
  for (std::int64_t row = 0; row < rows; ++row) codes.chip(row, 0) = scale.chip(row / r, 0);
  return codes;
}

// What comes back of a part: its rows, and the codes that it has something of.
void CopyBack(const Call& call, const RowPart& part, std::int64_t r) {
  CopyPart(call, "weight", "weight_again", call.At("weight").extents[1], part.row0, part.rows, 0,
           call.At("weight").extents[1]);
  if (part.rows == 0) return;
  const std::int64_t columns = call.At("scale").extents[1];
  const std::int64_t from = part.row0 / r, to = (part.row0 + part.rows - 1) / r + 1;
  CopyPart(call, "scale", "scale_again", columns, from, to - from, 0, columns);
}

// Adds the arguments that every operation here has.
void AddSources(Operation& operation, const std::vector<std::string>& weight,
                const std::vector<std::string>& codes) {
  const auto add = [&](const char* name, const char* format, Role role,
                       const std::vector<std::string>& extents) {
    operation.arguments.push_back(
        {.name = name, .format = format, .role = role, .extents = extents});
  };
  add("weight", "e4m3fn", Role::kInput, weight);
  add("scale", "e8m0", Role::kInput, codes);
  add("weight_again", "e4m3fn", Role::kOutput, weight);
  add("scale_again", "e8m0", Role::kOutput, codes);
}

// ---- FlashMLA ----

absl::Status FusedReference(const Call& call, bool o) {
  namespace flashmla = reference::flashmla;
  FillOutputs(call);
  const std::int64_t rows = call.At("weight").extents[0], r = call["R"];
  if (call["dim"] % 32 != 0 || rows % call["parts"] != 0 ||
      call.At("weight").extents[1] % 32 != 0) {
    return InvalidArgument("sizes are whole");
  }
  const RowPart part(rows, call["parts"]);
  if (r == 32 && (rows % 32 != 0 || part.rows % 32 != 0)) {
    return InvalidArgument("block codes want whole blocks");
  }
  const Bytes weight = part.Of(BytesOf<2>(call, "weight"));
  const Bytes row_codes = part.Of(RowCodes(BytesOf<2>(call, "scale"), rows, r));
  absl::StatusOr<flashmla::ScaledWeight> moved;
  if (o) {
    // Codes of blocks stay so.
    Bytes codes = row_codes;
    if (r == 32) {
      LANEWISE_ASSIGN_OR_RETURN(const auto folded, reference::FoldRowCodes(row_codes));
      codes = folded;
    }
    moved = flashmla::PermuteWoA(weight, codes, call["heads"]);
  } else {
    moved = flashmla::PermuteWqB(weight, row_codes, call["heads"] / call["parts"]);
  }
  if (!moved.ok()) return moved.status();
  Store(call, "bytes", moved->weight);
  Store(call, "codes", moved->codes);
  CopyBack(call, part, r);
  return absl::OkStatus();
}

absl::Status FusedRun(const Call& call, bool o) {
  const std::int64_t n = call.At("weight").extents[0], k = call.At("weight").extents[1];
  const LinearSource source =
      RowPart(n, call["parts"])
          .Of(LinearSource::Whole(n, k, LinearSource::WeightForm::kE4m3, call["R"]));
  LANEWISE_ASSIGN_OR_RETURN(const auto plans,
                            o ? flashmla::PlanWoA(source, call["heads"])
                              : flashmla::PlanWqB(source, call["heads"] / call["parts"]));
  FillOutputs(call);
  return RunAndRestore(call, {"weight", "scale"},
                       {{&plans.codes, "codes"}, {&plans.weight, "bytes"}},
                       {"weight_again", "scale_again"});
}

Operation Flashmla(bool o) {
  Operation operation;
  operation.name = o ? "prepare/flashmla/wo_a" : "prepare/flashmla/wq_b";
  // A code for R rows x 32 columns; the last of so many parts of the heads (wq_b),
  // of the rows (wo_a).
  operation.dimensions = {{"heads"}, {"dim"}, {"other"}, {"R"}, {"parts"}, {"threads"}};
  operation.shapes =
      "heads=1,2,8 dim=32*{1,3,16} other=32,96 R=1 parts=1 threads=1,3\n"
      "heads=4 dim=64 other=64,128 R=1,32 parts=1,2 threads=1,3\n"
      "random 8: heads=1..12 dim=32*{1..8} other=32*{1..6} R=1,32 parts=1 threads=1,3\n"
      "random 4: heads=2*{1..6} dim=32*{1..8} other=64*{1..3} R=1,32 parts=2 threads=1,3\n"
      "heads=3 dim=40 other=32 R=1 parts=1 threads=1  # refused";
  const std::vector<std::string> weight = o ? std::vector<std::string>{"other", "heads * dim"}
                                            : std::vector<std::string>{"heads * dim", "other"};
  AddSources(operation, weight, {"ceil(" + weight[0] + ", R)", weight[1] + " / 32"});
  const std::string rows = weight[0] + " / parts";
  operation.arguments.push_back(
      {.name = "bytes", .format = "e4m3fn", .role = Role::kOutput, .extents = {rows, weight[1]}});
  operation.arguments.push_back({.name = "codes",
                                 .format = "e8m0",
                                 .role = Role::kOutput,
                                 .extents = {o ? rows + " / R" : rows, weight[1] + " / 32"}});
  const auto in_layout = [&](const char* tag, const std::string& columns, const char* chunks) {
    return InLayout(tag, operation.arguments[operation.arguments.size() - 2].extents[0], columns,
                    chunks);
  };
  auto& bytes = operation.arguments[operation.arguments.size() - 2];
  auto& codes = operation.arguments.back();
  bytes.layout = o ? in_layout("flashmla/o_fused", weight[1], "dim / 32")
                   : in_layout("flashmla/q_fused", weight[1], "dim / 16");
  if (!o) codes.layout = in_layout("flashmla/q_fused", weight[1] + " / 32", "dim / 16");
  operation.data = {Data::kIota, Data::kRandomBits};
  operation.reference = [o](const Call& call) { return FusedReference(call, o); };
  operation.host = [o](const Call& call) { return FusedRun(call, o); };
  return operation;
}

const Registration kWqB(Flashmla(false));
const Registration kWoA(Flashmla(true));

// ---- gfx950 ----

// Row codes that fold, or any.
void FillRowCodes(Data, const Call& call, std::mt19937_64& random) {
  const std::int64_t columns = call.At("scale").extents[1];
  auto* const codes = call.Data<std::uint8_t>("scale");
  for (std::int64_t i = 0; i < call.At("scale").elements; ++i) {
    const bool again = call["R"] == 1 && call["folds"] == 1 && i / columns % 32 != 0;
    codes[i] = again ? codes[i - columns] : static_cast<std::uint8_t>(60 + random() % 120);
  }
}

// The outputs have room for each kind: bf16 bytes, row codes.
absl::Status LinearReference(const Call& call) {
  namespace gfx950 = reference::gfx950;
  FillOutputs(call);
  const std::int64_t n = call["N"], r = call["R"];
  const RowPart part(n, call["parts"]);
  if (call["K"] % 32 != 0 || n % call["parts"] != 0) {
    return InvalidArgument("sizes are whole");
  }
  if (r == 32 && (n % 32 != 0 || part.rows % 32 != 0)) {
    return InvalidArgument("block codes want whole blocks");
  }
  LANEWISE_ASSIGN_OR_RETURN(
      const auto linear, gfx950::ProcessLinear(part.Of(BytesOf<2>(call, "weight")),
                                               part.Of(RowCodes(BytesOf<2>(call, "scale"), n, r)),
                                               call["invariant"] == 1));
  *call.Data<std::uint32_t>("kind") = static_cast<std::uint32_t>(linear.kind);
  if (linear.kind == gfx950::LinearKind::kBf16) {
    const auto& values = std::get<Tensor<Bf16, 2>>(linear.weight);
    std::memcpy(call.Data("bytes"), values.data(), static_cast<std::size_t>(2 * values.size()));
  } else {
    const auto& bytes = std::get<Bytes>(linear.weight);
    std::copy_n(bytes.data(), bytes.size(), call.Data<std::uint8_t>("bytes"));
  }
  std::copy_n(linear.codes.data(), linear.codes.size(), call.Data<std::uint8_t>("codes"));
  CopyBack(call, part, r);
  return absl::OkStatus();
}

absl::Status LinearRun(const Call& call) {
  const std::int64_t n = call["N"], k = call["K"], columns = k / 32;
  const RowPart part(n, call["parts"]);
  const LinearSource source =
      part.Of(LinearSource::Whole(n, k, LinearSource::WeightForm::kE4m3, call["R"]));
  bool folds = call["R"] == 32;
  if (!folds && n > 0) {
    folds = RowCodesFold(call.Bytes("scale").subspan(static_cast<std::size_t>(part.row0 * columns)),
                         part.rows, columns);
  }
  const gfx950::LinearKind kind = gfx950::ChooseKind(folds, k, call["invariant"] == 1);
  LANEWISE_ASSIGN_OR_RETURN(const auto plans, gfx950::PlanLinear(source, kind));
  FillOutputs(call);
  LANEWISE_RETURN_IF_ERROR(RunAndRestore(call, {"weight", "scale"},
                                         {{&plans.codes, "codes"}, {&plans.weight, "bytes"}},
                                         {"weight_again", "scale_again"}));
  *call.Data<std::uint32_t>("kind") = static_cast<std::uint32_t>(kind);
  return absl::OkStatus();
}

const Registration kLinear([] {
  Operation operation;
  operation.name = "prepare/gfx950/linear";
  operation.dimensions = {{"N"}, {"K"}, {"R"}, {"folds"}, {"invariant"}, {"parts"}, {"threads"}};
  operation.shapes =
      "N=32,64 K=128,160 R=1 folds=0,1 invariant=0,1 parts=1 threads=1,3\n"
      "N=64,192 K=128,160 R=1,32 folds=1 invariant=0,1 parts=2 threads=3\n"
      "random 8: N=1..70 K=32*{1..20} R=1 folds=0,1 invariant=0,1 parts=1 threads=1,3\n"
      "random 4: N=32*{1..4} K=32*{1..20} R=32 folds=1 invariant=0,1 parts=1,2 threads=1,3\n"
      "N=32 K=72 R=1 folds=0 invariant=0 parts=1 threads=1  # refused";
  AddSources(operation, {"N", "K"}, {"ceil(N, R)", "K / 32"});
  // bf16 that overflows, is NaN or below 2^-124 does not come back as the byte it was.
  operation.arguments[0].allow_nan = false;
  operation.arguments[1].generate = FillRowCodes;
  operation.arguments.push_back(
      {.name = "bytes", .format = "u8", .role = Role::kOutput, .extents = {"N / parts", "2 * K"}});
  operation.arguments.push_back(
      {.name = "codes", .format = "u8", .role = Role::kOutput, .extents = {"N / parts", "K / 32"}});
  operation.arguments.push_back(
      {.name = "kind", .format = "u32", .role = Role::kOutput, .extents = {"1"}});
  operation.data = {Data::kRandomBits, Data::kAllCodes, Data::kNegativeZeros, Data::kSubnormals};
  operation.reference = LinearReference;
  operation.host = LinearRun;
  return operation;
}());

// The values alone, any codes: what overflows, NaN, and what is too small for bf16.
const Registration kBf16([] {
  Operation operation;
  operation.name = "prepare/gfx950/bf16";
  operation.dimensions = {{"N"}, {"K"}, {"threads"}};
  operation.shapes =
      "N=1,5,32 K=32*{1,3,57} threads=1,3; random 8: N=1..40 K=32*{1..20} threads=1,3";
  operation.arguments = {{.name = "weight", .format = "e4m3fn", .extents = {"N", "K"}},
                         {.name = "scale", .format = "e8m0", .extents = {"N", "K / 32"}},
                         {.name = "bytes",
                          .format = "bf16",
                          .role = Role::kOutput,
                          .extents = {"N", "K"},
                          .contract = Contract::kNumbers}};
  operation.data = {Data::kRandomBits, Data::kAllCodes, Data::kSubnormals, Data::kNan,
                    Data::kExtremeScales};
  operation.reference = [](const Call& call) -> absl::Status {
    const auto values =
        reference::gfx950::Dequantize(BytesOf<2>(call, "weight"), BytesOf<2>(call, "scale"));
    if (values.ok()) Store(call, "bytes", *values);
    return values.status();
  };
  operation.host = [](const Call& call) -> absl::Status {
    LANEWISE_ASSIGN_OR_RETURN(
        const auto plans,
        gfx950::PlanLinear(
            LinearSource::Whole(call["N"], call["K"], LinearSource::WeightForm::kE4m3, 1),
            gfx950::LinearKind::kBf16));
    return RunPlan(plans.weight, {call.Bytes("weight"), call.Bytes("scale")},
                   {.threads = static_cast<int>(call["threads"])}, call.Bytes("bytes"))
        .status();
  };
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
