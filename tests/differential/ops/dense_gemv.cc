// gfx942's dense FP8 GEMV over prepared weights: each plan, natural and chunk_q order.

#include "hip/gfx942/dense_gemv.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "formats/formats.h"
#include "reference/gfx942/dense_gemv.h"
#include "tests/differential/loaded.h"
#include "tests/differential/model_shapes.h"
#include "tests/differential/operation.h"
#include "tests/differential/ops/dense_operands.h"

namespace lanewise::differential {
namespace {

namespace judge = reference::gfx942;
using hip::gfx942::DenseGemv;

constexpr std::int64_t kChunk[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 2, 4, 6, 1, 3, 5, 7}};

judge::DenseGemvPlan Plan(const Call& call) {
  if (call["plan"] == 1) return judge::kGroupedPlan;
  judge::DenseGemvPlan plan = judge::kDensePlan;
  if (call["plan"] == 2) plan.splits = static_cast<int>(call["S"]);
  return plan;
}

// On the whole padded K: x is zero there, so that only a NaN among the weights would show. Columns
// stand in memory's order, which is what the matrix core sees.
template <class Out>
absl::Status Reference(const Call& call) {
  const std::int64_t m = call["M"], n = call["N"], k = call["K"], groups = call["G"];
  const std::int64_t padded_k = (k + 127) / 128 * 128, rows = n / groups;
  const auto* x = call.Data<Bf16>("x");
  auto* out = call.Data<Out>("out");
  for (std::int64_t group = 0; group < groups; ++group) {
    Tensor<Bf16, 2> x_part(m, padded_k);
    x_part.setConstant(Bf16::FromFloat(0));
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t i = 0; i < k; ++i) {
        x_part(row, i) = x[(row * groups + group) * k + i / 8 * 8 + kChunk[call["order"]][i % 8]];
      }
    }
    const DenseRows w = RowsOfCopy(call, "w", "w_codes", group * rows, rows, padded_k);
    LANEWISE_ASSIGN_OR_RETURN(
        const auto sums,
        judge::DenseGemv(x_part, {ElementFormat::kE4m3Fnuz, w.elements, w.codes},
                         Plan(call)));
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t i = 0; i < rows; ++i) {
        Out& at = out[row * n + group * rows + i];
        if constexpr (sizeof(Out) == 2) {
          at = Bf16::FromFloat((sums)(row, i));
        } else {
          at = (sums)(row, i);
        }
      }
    }
  }
  return absl::OkStatus();
}

template <class Out>
absl::Status Launch(const Call& call) {
  LANEWISE_ASSIGN_OR_RETURN(const DenseGemv* const gemv, Loaded<DenseGemv>(*call.device));
  constexpr std::array<DenseGemv::Plan, 3> kPlans = {
      DenseGemv::Plan::kDense, DenseGemv::Plan::kGrouped, DenseGemv::Plan::kSplit};
  return gemv->Launch({.m = call["M"],
                       .n = call["N"],
                       .k = call["K"],
                       .groups = call["G"],
                       .plan = kPlans[static_cast<std::size_t>(call["plan"])],
                       .splits = call["S"],
                       .out = sizeof(Out) == 2 ? FloatType::kBf16 : FloatType::kF32,
                       .w_layout = call["order"] == 1 ? "gfx942/dense_chunk_q" : "gfx942/dense"},
                      {call.Data("x"), call.Data("w"), call.Data("w_codes"), call.Data("out"),
                       call.Data("workspace")},
                      *call.stream);
}

// Every projection with all of K and few rows. In a nightly run with any number of tokens, and with
// all rows.
std::string OfProjection(const DenseShape& dense) {
  const auto shape = [&](const std::string& m, std::int64_t n) {
    return absl::StrCat("M=", m, " N=", n, " K=", dense.k, " G=", dense.groups,
                        " plan=", AbslView(dense.plan), " S=", dense.plan == "split" ? 2 : 1,
                        " order=natural\n");
  };
  const std::int64_t few = 32 * dense.groups;
  if (IsNightly()) return shape("1..17,33", few) + shape("2", dense.n);
  return shape(absl::StrCat(1 + dense.k / 128 % 17), few);
}

std::string OfRank(const RankShapes& rank) {
  std::string text;
  for (const DenseShape& dense : rank.dense) text += OfProjection(dense);
  for (const std::int64_t inter : {rank.shared_inter, rank.layer_inter}) {
    if (inter == 0) continue;
    text += OfProjection({2 * inter, rank.hidden}) + OfProjection({rank.hidden, inter});
  }
  return text;
}

template <class Out>
Operation Gemv(const std::string& format) {
  Operation operation;
  operation.name = "gfx942/dense_gemv_" + format;
  operation.dimensions = {{"M"},
                          {"N"},
                          {"K"},
                          {"G"},
                          {"plan", {"dense", "grouped", "split"}},
                          {"S"},
                          {"order", {"natural", "chunk_q"}}};
  operation.shapes = format == "bf16"
                         ? OfModels(OfRank) + "M=2 N=1296 K=160 G=1 plan=* S=2 order=natural"
                         : "M=1,2,7,15,16 N=32 K=576 G=1 plan=dense S=1 order=natural\n"
                           "M=1..16 N=16 K=96 G=1 plan=dense S=1 order=natural\n"
                           "M=17 N=48 K=32*{1,5,57} G=3 plan=* S=3 order=*\n"
                           "M=33 N=16 K=160 G=1 plan=* S=2 order=natural\n"
                           "M=0 N=32 K=64 G=1 plan=dense S=1 order=natural\n"
                           "random 4: M=1..40 N=16*{1..6} K=32*{1..60} G=1 plan=* S=1..5 order=*";
  operation.arguments = {
      {.name = "x", .format = "bf16", .role = Role::kInput, .extents = {"M", "G * K"}},
      DenseCopyBytes("w", "N", "K"),
      DenseCopyCodes("w_codes", "N", "K", 0),
      {.name = "out",
       .format = format,
       .role = Role::kOutput,
       .extents = {"M", "N"},
       .contract = Contract::kNumbers},
      // What WorkspaceBytes says at most.
      {.name = "workspace",
       .format = "u8",
       .role = Role::kWorkspace,
       .extents = {"roundup(G * M * roundup(K, 128), 128) + "
                   "roundup(G * M * (roundup(K, 128) / 32), 128) + 4 * S * M * N"}},
  };
  operation.data = {Data::kRandomBits,    Data::kNormal,      Data::kSubnormals,
                    Data::kNegativeZeros, Data::kNan,         Data::kExtremeScales,
                    Data::kOneHot,        Data::kCancellation};
  operation.chips = {"gfx942"};
  operation.reference = Reference<Out>;
  operation.device = Launch<Out>;
  return operation;
}

const Registration kBf16Out(Gemv<Bf16>("bf16"));
const Registration kF32Out(Gemv<float>("f32"));

}  // namespace
}  // namespace lanewise::differential
