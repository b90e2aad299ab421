// Quantization and tile selection in reference/.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "formats/formats.h"
#include "reference/gfx950/tile_selection.h"
#include "reference/quantize/mx.h"
#include "reference/quantize/options.h"
#include "reference/tensor.h"
#include "tests/golden/ops.h"
#include "tests/golden/tensors.h"

namespace lanewise::golden {
namespace {

using reference::gfx950::TileConfig;

// "rounded-log2" and "rounded_log2" alike.
absl::StatusOr<BlockRule> RuleNamed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  for (const BlockRule rule : {BlockRule::kExact, BlockRule::kRoundedLog2, BlockRule::kFloor,
                               BlockRule::kEven, BlockRule::kRoundUp}) {
    if (BlockRuleName(rule) == name) return rule;
  }
  return InvalidArgument("there is no block rule '", name, "'");
}

absl::StatusOr<Results> Mxfp8Quantize(const Case& golden_case) {
  absl::StatusOr<std::string> rule_name = golden_case.TextArg("rule");
  absl::StatusOr<std::int64_t> maximum = golden_case.IntArg("max", 448);
  if (!rule_name.ok()) return rule_name.status();
  if (!maximum.ok()) return maximum.status();
  LANEWISE_ASSIGN_OR_RETURN(BlockRule rule, RuleNamed(*rule_name));
  reference::QuantizeOptions options;
  options.rule = rule;
  options.maximum = static_cast<float>(*maximum);
  // gfx942's maxima are FNUZ's.
  if (*maximum <= 240) options.format = ElementFormat::kE4m3Fnuz;

  LANEWISE_ASSIGN_OR_RETURN(TensorView x, golden_case.Input("x"));
  const auto quantize = [&](auto element) -> absl::StatusOr<reference::Quantized> {
    absl::StatusOr<Tensor<decltype(element), 2>> rows = ToTensor<decltype(element), 2>(x, "x");
    if (!rows.ok()) return rows.status();
    return reference::Quantize(*rows, options);
  };
  LANEWISE_ASSIGN_OR_RETURN(reference::Quantized quantized,
                            x.dtype == DType::kBf16 ? quantize(Bf16()) : quantize(float()));
  Results results;
  results.tensors["q"] = ToOutput(quantized.elements);
  results.tensors["scale"] = ToOutput(quantized.codes);
  return results;
}

// The table's own M, N and K with this selection's answers.
template <class Select>
absl::StatusOr<Results> FillTable(const Case& golden_case, Select select) {
  const auto found = golden_case.outputs().find("table");
  if (found == golden_case.outputs().end()) {
    return InvalidArgument("there is no output 'table'");
  }
  LANEWISE_ASSIGN_OR_RETURN(auto table, ToTensor<std::int32_t, 2>(found->second, "table"));
  if (table.dimension(1) != 8) {
    return InvalidArgument("'table' is ", ShapeText(table), ", expected 8 columns");
  }
  for (std::int64_t row = 0; row < table.dimension(0); ++row) {
    const TileConfig config = select((table)(row, 0), (table)(row, 1), (table)(row, 2));
    (table)(row, 3) = config.block_m;
    (table)(row, 4) = config.block_n;
    (table)(row, 5) = config.block_k;
    (table)(row, 6) = config.warps;
    (table)(row, 7) = config.stages;
  }
  Results results;
  results.tensors["table"] = ToOutput(table);
  return results;
}

absl::StatusOr<Results> SelectCfg(const Case& golden_case) {
  absl::StatusOr<bool> gfx950 = golden_case.BoolArg("gfx950");
  absl::StatusOr<std::int64_t> stages = golden_case.IntArg("bk256_stages");
  if (!gfx950.ok()) return gfx950.status();
  if (!stages.ok()) return stages.status();
  return FillTable(golden_case, [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return reference::gfx950::SelectTile(m, n, k, {*gfx950, static_cast<int>(*stages)});
  });
}

absl::StatusOr<Results> SelectFusedQuantCfg(const Case& golden_case) {
  return FillTable(golden_case, [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return reference::gfx950::SelectFusedQuantTile(m, n, k).value_or(TileConfig());
  });
}

}  // namespace

void AddQuantize(OperationTable& table) {
  table.Add("mxfp8_quantize", kReference, Mxfp8Quantize);
  table.Add("select_cfg", kReference, SelectCfg);
  table.Add("select_fused_quant_cfg", kReference, SelectFusedQuantCfg);
}

}  // namespace lanewise::golden
