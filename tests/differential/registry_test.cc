// That everything of the project's registries is an operation: a layout, a format, a quantizer's
// rule or a matrix instruction that is added elsewhere and not here fails.

#include "formats/registry.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "gtest/gtest.h"
#include "layouts/catalogue.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/cdna4.h"
#include "reference/quantize/options.h"
#include "tests/differential/operation.h"
#include "tests/differential/shape.h"
#include "tests/golden/operations.h"

namespace lanewise::differential {
namespace {

void ExpectOperation(const std::string& name, bool host, bool device) {
  const Operation* const operation = FindOperation(name);
  ASSERT_NE(operation, nullptr) << "there is no operation " << name;
  EXPECT_TRUE(!host || operation->host) << name << " has no implementation on the host";
  EXPECT_TRUE(!device || operation->device) << name << " has none on devices";
}

TEST(Registry, EveryLayoutIsPackedAndUnpacked) {
  for (const Layout& layout : kCatalogue) {
    ExpectOperation(absl::StrCat("pack/", AbslView(layout.tag)), true, true);
    ExpectOperation(absl::StrCat("unpack/", AbslView(layout.tag)), true, true);
  }
}

TEST(Registry, EveryFormatIsEncodedAndDecoded) {
  for (const FormatView& format : kFormats) {
    ExpectOperation(absl::StrCat("encode/", AbslView(format.name)), true, false);
    ExpectOperation(absl::StrCat("decode/", AbslView(format.name)), true, false);
  }
}

TEST(Registry, EveryMatrixInstructionHasItsTwinAndItsKernel) {
  for (const MatrixInstruction& instruction : cdna3::kInstructions) {
    ExpectOperation(absl::StrCat("matrix_core/cdna3/", AbslView(instruction.name)), true, true);
  }
  for (const MatrixInstruction& instruction : cdna4::kInstructions) {
    ExpectOperation(absl::StrCat("matrix_core/cdna4/", AbslView(instruction.name)), true, true);
  }
}

// By every rule: on the host against the definition, on the devices against the host.
TEST(Registry, EveryQuantizerRuleAndFormatRuns) {
  for (const std::string prefix : {"quantize/", "definition/quantize/"}) {
    for (const std::string input : {"bf16", "f32"}) {
      for (const std::string format : {"e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e2m1"}) {
        const bool device = prefix == "quantize/";
        if (device && format.substr(0, 4) == "e5m2") continue;  // no kernel writes them
        const std::string name = absl::StrCat(prefix, input, "_to_", format);
        ExpectOperation(name, !device, device);
        const Operation* const operation = FindOperation(name);
        if (operation == nullptr) continue;
        const auto shapes = ParseShapes(operation->shapes, operation->dimensions, 1);
        ASSERT_TRUE(shapes.ok()) << shapes.status();
        for (const BlockRule rule : kBlockRules) {
          const bool runs = std::any_of(shapes->begin(), shapes->end(), [&](const Shape& shape) {
            return shape["rule"] == static_cast<std::int64_t>(rule);
          });
          EXPECT_TRUE(runs) << name << " by rule " << BlockRuleName(rule);
        }
      }
    }
  }
}

// What prepares weights in the golden cases, and which operations stand for it.
TEST(Registry, EveryGoldenPreparationIsGenerated) {
  const golden::OperationTable& table = golden::OperationTable::Get();
  const auto operation_of = [](const std::string& op) -> std::string {
    if (op == "dense_copy") return "prepare/gfx942/dense";
    if (op == "linear_copy") return "prepare/gfx942/dense_of_bf16";
    if (op == "permute_wq_b") return "prepare/flashmla/wq_b";
    if (op == "permute_wo_a") return "prepare/flashmla/wo_a";
    if (op == "permute_q_to_fused") return "golden/permute_q_to_fused/u8";
    return "golden/" + op;
  };
  int operations = 0;
  for (const std::string& op : table.Names()) {
    if (table.Find(op, golden::kWeights) == nullptr) continue;
    ExpectOperation(operation_of(op), true, false);
    ++operations;
  }
  EXPECT_GE(operations, 17);
}

// Each target's GEMMs (reference/gfx942, gfx950, flashmla), and what is composed of them.
TEST(Registry, EveryGemmIsHeldToItsPlanOrToTheExactSum) {
  for (const char* const name :
       {"planned/gfx942/dense_gemv", "planned/gfx942/up_gate", "planned/gfx942/down",
        "planned/gfx942/routed_experts", "planned/gfx950/block32_gemm",
        "planned/gfx950/row_scale_gemm", "planned/gfx950/bf16_gemm", "planned/gfx950/mxfp8_linear",
        "planned/gfx950/up_gate", "planned/gfx950/down", "planned/gfx950/routed_experts",
        "planned/gfx950/a16w4_up_gate", "planned/gfx950/a16w4_moe", "exact/flashmla/q_projection",
        "exact/flashmla/o_projection", "exact/linear/e4m3fn_by_e4m3fn",
        "exact/linear/bf16_by_bf16"}) {
    ExpectOperation(name, true, false);
  }
  for (const char* const name :
       {"gfx942/dense_gemv", "gfx942/dense_gemv_bf16", "gfx942/dense_gemv_f32",
        "gfx942/moe_up_gate", "gfx942/moe_down"}) {
    ExpectOperation(name, false, true);
  }
}

TEST(Registry, EveryOperationRunsSomewhereAndHasShapesAndData) {
  for (const Operation* operation : Operations()) {
    EXPECT_TRUE(operation->host || operation->device) << operation->name;
    EXPECT_TRUE(operation->reference != nullptr) << operation->name;
    EXPECT_FALSE(operation->data.empty()) << operation->name;
    const auto shapes = ParseShapes(operation->shapes, operation->dimensions, 1);
    ASSERT_TRUE(shapes.ok()) << operation->name << ": " << shapes.status();
    EXPECT_FALSE(shapes->empty()) << operation->name;
  }
}

}  // namespace
}  // namespace lanewise::differential
