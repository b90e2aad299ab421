#include "tests/golden/operations.h"

#include <set>
#include <utility>

#include "tests/golden/ops.h"

namespace lanewise::golden {
namespace {

constexpr std::string_view kRefuse = ".refuse";

// Operations of weight preparation: they have to be in weights/ as well as in reference/.
constexpr std::string_view kPreparations[] = {
    "aiter_e8m0_shuffle",  "aiter_shuffle_weight_16x16",
    "as_block32_scale",    "codes_tile_rounds",
    "dense_copy",          "fp4_drop_negative_zero",
    "fp4_lane_major",      "fp4_tile_major",
    "linear_copy",         "moe_copies",
    "ocp_from_dequant",    "o_fused_chunk_permutation",
    "o_fused_permutation", "permute_q_to_fused",
    "permute_wo_a",        "permute_wq_b",
    "q_fused_permutation",
};

std::string_view WithoutRefuse(std::string_view op) {
  return IsRefusal(op) ? op.substr(0, op.size() - kRefuse.size()) : op;
}

}  // namespace

bool IsRefusal(std::string_view op) { return op.ends_with(kRefuse); }

const OperationTable& OperationTable::Get() {
  static const OperationTable* const table = [] {
    auto* all = new OperationTable;
    AddGemm(*all);
    AddLayoutsReference(*all);
    AddLayoutsWeights(*all);
    AddMfma(*all);
    AddQuantize(*all);
    return all;
  }();
  return *table;
}

void OperationTable::Add(std::string_view op, std::string_view implementation,
                         Operation operation) {
  operations_[std::string(op)][std::string(implementation)] = std::move(operation);
}

const Operation* OperationTable::Find(std::string_view op, std::string_view implementation) const {
  const auto implementations = operations_.find(std::string(WithoutRefuse(op)));
  if (implementations == operations_.end()) return nullptr;
  const auto found = implementations->second.find(std::string(implementation));
  return found == implementations->second.end() ? nullptr : &found->second;
}

std::vector<std::string> OperationTable::Implementations(std::string_view op) const {
  const std::string name(WithoutRefuse(op));
  std::set<std::string> implementations = {std::string(kReference)};
  for (const std::string_view preparation : kPreparations) {
    if (preparation == name) implementations.emplace(kWeights);
  }
  if (const auto found = operations_.find(name); found != operations_.end()) {
    for (const auto& [implementation, operation] : found->second) {
      implementations.insert(implementation);
    }
  }
  return {implementations.begin(), implementations.end()};
}

std::vector<std::string> OperationTable::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, implementations] : operations_) names.push_back(name);
  return names;
}

}  // namespace lanewise::golden
