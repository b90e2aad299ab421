// Every preparation on random shapes and bytes in reference/ and in weights/: both give the same
// tensors and counts, or both refuse, with the same counts in their messages. Some draws are meant
// to be refused: sizes that do not divide, shapes that do not belong together, padding that is not
// zero, values off the scale. LANEWISE_SEED chooses the first draw's seed.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/dtype.h"
#include "formats/formats.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/golden/case.h"
#include "tests/golden/compare.h"
#include "tests/golden/operations.h"
#include "tests/golden/run_case.h"

namespace lanewise::golden {
namespace {

using Shape = std::vector<std::int64_t>;

// A case while it is drawn. It owns the bytes.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  // A number from `least` to `most`.
  std::int64_t Between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool OneIn(std::int64_t n) { return Between(1, n) == 1; }
  // A multiple of `step` up to `most` steps; now and then a size that is none.
  std::int64_t Size(std::int64_t step, std::int64_t most) {
    return OneIn(24) ? Between(1, step * most) : step * Between(1, most);
  }

  // Adds a tensor of random bytes below `limit` and returns them for changes.
  std::vector<std::uint8_t>& Bytes(const std::string& role, Shape shape, int limit = 256) {
    std::vector<std::uint8_t>& bytes = Add(role, DType::kU8, std::move(shape), 1);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(Between(0, limit - 1));
    return bytes;
  }
  // Adds a tensor of bf16, zeros.
  std::vector<std::uint8_t>& Bf16s(const std::string& role, Shape shape) {
    return Add(role, DType::kBf16, std::move(shape), 2);
  }

  nlohmann::json args = nlohmann::json::object();

  Case ToCase(const std::string& op) const { return Case(0, op, args, inputs_, {}); }

 private:
  std::vector<std::uint8_t>& Add(const std::string& role, DType dtype, Shape shape,
                                 std::int64_t width) {
    std::int64_t bytes = width;
    for (const std::int64_t size : shape) bytes *= size;
    storage_.emplace_back(static_cast<std::size_t>(bytes));
    inputs_[role] = TensorView{dtype, std::move(shape), storage_.back()};
    return storage_.back();
  }

  std::mt19937_64 random_;
  std::deque<std::vector<std::uint8_t>> storage_;
  std::map<std::string, TensorView> inputs_;
};

// Codes of [rows, columns] blocks, each row `repeat` times; sometimes a row that disagrees.
void DrawCodes(Draw& draw, std::int64_t blocks, std::int64_t columns, std::int64_t repeat,
               int limit) {
  std::vector<std::uint8_t>& codes = draw.Bytes("scale", {blocks * repeat, columns}, limit);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(codes.size()); ++i) {
    const std::int64_t row = i / columns / repeat * repeat;
    codes[static_cast<std::size_t>(i)] =
        codes[static_cast<std::size_t>(row * columns + i % columns)];
  }
  if (!codes.empty() && draw.OneIn(8)) {
    codes[static_cast<std::size_t>(draw.Between(0, static_cast<std::int64_t>(codes.size()) - 1))] ^=
        1;
  }
}

// A weight [n, k], as e4m3 bytes or as the bf16 of bytes times the drawn codes, of which a few are
// off.
void DrawLinear(Draw& draw, bool may_be_bytes, bool may_be_rows) {
  const std::int64_t n = draw.Size(32, 4), k = draw.Size(32, 9);
  const std::int64_t repeat = may_be_rows && draw.OneIn(2) ? 32 : 1;
  const int limit = draw.OneIn(6) ? 256 : 240;
  DrawCodes(draw, n / 32, k / 32, repeat, limit);
  const TensorView scale = *draw.ToCase("").Input("scale");
  if (may_be_bytes && draw.OneIn(2)) {
    draw.Bytes("w_e4m3", {n, k});
    return;
  }
  std::vector<std::uint8_t>& w = draw.Bf16s("w", {n, k});
  const bool some_off = draw.OneIn(4);
  for (std::int64_t i = 0; i < n * k; ++i) {
    const std::int64_t row = i / k, column = i % k;
    const std::size_t code = static_cast<std::size_t>(row / 32 * repeat * (k / 32) + column / 32);
    Bf16 value = Bf16::FromFloat(0.0f);
    if (code < scale.bytes.size() && scale.bytes[code] != 255) {
      const auto byte =
          static_cast<std::uint8_t>(draw.Between(0, 0x7E) + 0x80 * draw.Between(0, 1));
      value = Bf16::FromFloat(E4m3Fn::FromBits(byte).ToFloat() *
                              E8m0::FromBits(scale.bytes[code]).ToFloat());
    }
    std::uint16_t bits = value.bits();
    if (some_off && draw.OneIn(50)) bits = static_cast<std::uint16_t>(draw.Between(0, 0xFFFF));
    w[static_cast<std::size_t>(2 * i)] = static_cast<std::uint8_t>(bits & 0xFF);
    w[static_cast<std::size_t>(2 * i + 1)] = static_cast<std::uint8_t>(bits >> 8);
  }
}

void DrawExperts(Draw& draw) {
  const std::int64_t experts = draw.Between(1, 3), inter = draw.Size(64, 3);
  const std::int64_t padded = (inter + 31) / 32 * 32 + 32 * draw.Between(0, 3);
  const std::int64_t k = draw.Size(256, 2), hidden = draw.Size(16, 4);
  const std::int64_t w13_columns = std::max<std::int64_t>(k / 2, 1);
  std::vector<std::uint8_t>& w13 = draw.Bytes("w13", {experts, 2 * padded, w13_columns});
  for (std::size_t i = 0; i < w13.size(); ++i) {
    if (static_cast<std::int64_t>(i) / w13_columns % padded >= inter) w13[i] = 0;
  }
  std::vector<std::uint8_t>& w2 = draw.Bytes("w2", {experts, hidden, padded / 2});
  for (std::size_t i = 0; i < w2.size(); ++i) {
    if (static_cast<std::int64_t>(i) % (padded / 2) >= inter / 2) w2[i] = 0;
  }
  if (draw.OneIn(6)) w13.back() |= static_cast<std::uint8_t>(draw.Between(0, 255));
  if (draw.OneIn(6)) w2.back() |= static_cast<std::uint8_t>(draw.Between(0, 255));
  draw.Bytes("w13_s", {experts, 2 * padded, 2 * w13_columns / 32});
  draw.Bytes("w2_s", {experts, hidden, padded / 32});
  draw.args["inter"] = inter;
}

// One draw of an operation's inputs.
void DrawInputs(const std::string& op, Draw& draw) {
  const auto lead = [&draw](std::int64_t rows, std::int64_t columns) {
    return draw.OneIn(2) ? Shape{rows, columns} : Shape{draw.Between(1, 3), rows, columns};
  };
  if (op == "dense_copy") {
    const std::int64_t n = draw.Size(32, 4), k = draw.Size(32, 9);
    draw.Bytes("w8", {n, k});
    draw.Bytes("scale", {n / 32, k / 32}, draw.OneIn(6) ? 256 : 250);
    draw.args["chunk_q"] = draw.OneIn(2);
  } else if (op == "linear_copy") {
    DrawLinear(draw, true, true);
  } else if (op == "ocp_from_dequant") {
    DrawLinear(draw, false, false);
  } else if (op == "as_block32_scale") {
    DrawCodes(draw, draw.Between(1, 4), draw.Between(1, 9), 32, 256);
  } else if (op == "fp4_drop_negative_zero" || op == "fp4_lane_major") {
    draw.Bytes("w", lead(draw.Between(1, 20), draw.Size(32, 9)));
  } else if (op == "fp4_tile_major" || op == "aiter_shuffle_weight_16x16") {
    draw.Bytes("w", lead(draw.Size(16, 4), draw.Size(32, 9)));
  } else if (op == "codes_tile_rounds") {
    const std::int64_t blocks = draw.Between(1, 9);
    draw.Bytes("codes", lead(draw.Size(16, 4), draw.Size(blocks, 5)));
    draw.args["blocks"] = blocks;
  } else if (op == "aiter_e8m0_shuffle") {
    draw.Bytes("codes", lead(draw.Size(32, 4), draw.Size(8, 5)));
  } else if (op == "moe_copies") {
    DrawExperts(draw);
  } else if (op == "q_fused_permutation") {
    draw.args = {{"num_heads", draw.Between(2, 20)}, {"head_dim", draw.Size(16, 8)}};
  } else if (op == "o_fused_permutation" || op == "o_fused_chunk_permutation") {
    draw.args = {{"heads_per_group", draw.Between(1, 20)}, {"head_dim", draw.Size(32, 8)}};
  } else if (op == "permute_q_to_fused") {
    const Shape shape = {draw.Between(1, 4), draw.Between(2, 12), draw.Size(16, 6)};
    if (draw.OneIn(2)) {
      draw.Bytes("q", shape);
    } else {
      for (std::uint8_t& byte : draw.Bf16s("q", shape)) {
        byte = static_cast<std::uint8_t>(draw.Between(0, 255));
      }
    }
  } else if (op == "permute_wq_b") {
    const std::int64_t heads = draw.Between(2, 9), rows = heads * draw.Size(16, 4);
    const std::int64_t blocks = draw.Between(1, 3);
    draw.Bytes("weight", {rows, 32 * blocks});
    draw.Bytes("weight_scale", {draw.OneIn(8) ? rows - 1 : rows, blocks});
    draw.args["num_local_heads"] = draw.OneIn(24) ? heads + 1 : heads;
  } else if (op == "permute_wo_a") {
    const std::int64_t heads = draw.Between(1, 9), columns = heads * draw.Size(32, 4);
    const std::int64_t blocks = draw.Between(1, 3);
    draw.Bytes("weight", {32 * blocks, columns});
    draw.Bytes("weight_scale",
               {draw.OneIn(2) ? blocks : 32 * blocks, draw.OneIn(8) ? 1 : columns / 32});
    draw.args["heads_per_group"] = draw.OneIn(24) ? heads + 1 : heads;
  } else {
    ADD_FAILURE() << "no draw for " << op;
  }
}

// What a refusal counts: the text before " values", if it has one.
std::string CountText(const absl::Status& status) {
  const std::string message(StdView(status.message()));
  const std::size_t end = message.find(" values are not");
  return end == message.npos ? "" : message.substr(0, end);
}

std::string ShapesText(const Case& golden_case) {
  std::string text;
  for (const auto& [role, view] : golden_case.inputs()) {
    absl::StrAppend(&text, " ", role, " [");
    for (const std::int64_t size : view.shape) absl::StrAppend(&text, " ", size);
    text += " ]";
  }
  return text;
}

class Differential : public testing::TestWithParam<const char*> {};

TEST_P(Differential, BothRoomsAgree) {
  const std::string op = GetParam();
  const OperationTable& table = OperationTable::Get();
  const Operation* const reference = table.Find(op, kReference);
  const Operation* const weights = table.Find(op, kWeights);
  ASSERT_TRUE(reference != nullptr && weights != nullptr);
  const char* const chosen = std::getenv("LANEWISE_SEED");
  const std::uint64_t first = chosen == nullptr ? 1 : std::strtoull(chosen, nullptr, 10);
  const int draws = std::getenv("LANEWISE_NIGHTLY") == nullptr ? 100 : 5000;
  int accepted = 0;
  for (int i = 0; i < draws && !HasFailure(); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    Draw draw(seed);
    DrawInputs(op, draw);
    const Case drawn = draw.ToCase(op);
    SCOPED_TRACE(absl::StrCat("LANEWISE_SEED=", seed, " ", drawn.args().dump(), ShapesText(drawn)));
    const absl::StatusOr<Results> expected = (*reference)(drawn);
    const absl::StatusOr<Results> actual = (*weights)(drawn);
    if (!expected.ok()) {
      ASSERT_FALSE(actual.ok()) << "weights/ accepts, reference/ refuses: " << expected.status();
      // Where there is more to refuse than one thing, which comes first is each room's own.
      if (op == "ocp_from_dequant" || !CountText(actual.status()).empty()) {
        EXPECT_EQ(CountText(actual.status()), CountText(expected.status()));
      }
      continue;
    }
    ASSERT_TRUE(actual.ok()) << "reference/ accepts, weights/ refuses: " << actual.status();
    ++accepted;
    std::map<std::string, TensorView> outputs;
    for (const auto& [role, tensor] : expected->tensors) {
      outputs[role] = TensorView{tensor.dtype, tensor.shape, tensor.bytes};
    }
    const Case with_outputs(0, op, nlohmann::json::object(), {}, outputs);
    const absl::Status same = CompareResults(with_outputs, *actual);
    EXPECT_TRUE(same.ok()) << same.message();
    for (const auto& [name, count] : expected->counts) {
      const auto found = actual->counts.find(name);
      ASSERT_NE(found, actual->counts.end()) << "weights/ counts no " << name;
      EXPECT_EQ(found->second, count) << name;
    }
  }
  EXPECT_GT(accepted, draws / 3) << "most draws were refused";
}

INSTANTIATE_TEST_SUITE_P(
    Preparations, Differential,
    testing::Values("aiter_e8m0_shuffle", "aiter_shuffle_weight_16x16", "as_block32_scale",
                    "codes_tile_rounds", "dense_copy", "fp4_drop_negative_zero", "fp4_lane_major",
                    "fp4_tile_major", "linear_copy", "moe_copies", "ocp_from_dequant",
                    "o_fused_chunk_permutation", "o_fused_permutation", "permute_q_to_fused",
                    "permute_wo_a", "permute_wq_b", "q_fused_permutation"),
    [](const testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

}  // namespace
}  // namespace lanewise::golden
