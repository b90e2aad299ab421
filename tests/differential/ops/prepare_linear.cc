// Preparation of MXFP8 linears in weights/ against reference/: gfx942's dense copy, FlashMLA's
// permutations, gfx950's dequantization.

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "formats/formats.h"
#include "reference/block_codes.h"
#include "reference/flashmla/fused_layout.h"
#include "reference/gfx942/linear.h"
#include "reference/gfx950/linear.h"
#include "tests/differential/operation.h"
#include "weights/flashmla/fused_layout.h"
#include "weights/gfx942/dense.h"
#include "weights/gfx950/linear.h"

namespace lanewise::differential {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;

Bytes BytesOf(const Call& call, std::string_view name) {
  const Operand& operand = call.At(name);
  Bytes bytes(operand.extents[0], operand.extents[1]);
  std::memcpy(bytes.data(), operand.data, static_cast<std::size_t>(operand.bytes));
  return bytes;
}

template <class T>
void Store(const Call& call, std::string_view name, const Tensor<T, 2>& tensor) {
  const std::span<std::uint8_t> to = call.Bytes(name);
  if (!to.empty()) std::memcpy(to.data(), tensor.data(), to.size());
}

absl::Status RunPlans(const Call& call, const absl::StatusOr<WeightPlans>& plans) {
  if (!plans.ok()) return plans.status();
  const Sources sources = {call.Bytes("weight"), call.Bytes("scale")};
  const RunOptions options = {.threads = call["threads"] == 1 ? 1 : 3,
                              .stores = call["threads"] == 1 ? PackOptions::Stores::kCached
                                                             : PackOptions::Stores::kStreaming};
  // Codes first: what does not fold is refused there.
  const auto codes = RunPlan(plans->codes, sources, options, call.Bytes("codes"));
  if (!codes.ok()) return codes.status();
  return RunPlan(plans->weight, sources, options, call.Bytes("bytes")).status();
}

// Row codes: each block's, 32 times; under random bits now and then one that does not fold.
void RowCodes(Data data, const Call& call, std::mt19937_64& random) {
  const Operand& scale = call.At("scale");
  const std::int64_t columns = scale.extents[1];
  auto* const codes = call.Data<std::uint8_t>("scale");
  const bool rows = call["codes"] == 1;
  for (std::int64_t i = 0; i < scale.elements; ++i) {
    const std::int64_t above = i - columns;
    if (rows && i / columns % 32 != 0) {
      codes[i] = codes[above];
    } else {
      codes[i] = static_cast<std::uint8_t>(data == Data::kExtremeScales ? random() % 2 * 249
                                                                        : 20 + random() % 210);
    }
  }
  if (data == Data::kNan && scale.elements > 0) {
    codes[random() % static_cast<std::uint64_t>(scale.elements)] ^= 1;
  }
}

// bf16 that was dequantized from e4m3 and the codes; under NaN a value that was not.
void Dequantized(Data data, const Call& call, std::mt19937_64& random) {
  const Operand& weight = call.At("weight");
  const Operand& scale = call.At("scale");
  auto* const values = call.Data<std::uint16_t>("weight");
  const auto* const codes = call.Data<std::uint8_t>("scale");
  const std::int64_t k = weight.extents[1], columns = scale.extents[1];
  for (std::int64_t i = 0; i < weight.elements; ++i) {
    const std::int64_t row = i / k / (call["codes"] == 1 ? 1 : 32);
    auto byte = static_cast<std::uint8_t>(data == Data::kAllCodes ? static_cast<std::uint64_t>(i)
                                                                  : random());
    if ((byte & 0x7F) == 0x7F) byte ^= 1;
    const std::int64_t at = row * columns + i % k / 32;
    const float code = at < scale.elements ? E8m0::FromBits(codes[at]).ToFloat() : 1.0f;
    values[i] = Bf16::FromFloat(E4m3Fn::FromBits(byte).ToFloat() * code).bits();
  }
  if (data == Data::kNan && weight.elements > 0) {
    values[random() % static_cast<std::uint64_t>(weight.elements)] ^= 1;
  }
}

Operation Dense(bool bf16) {
  Operation operation;
  operation.name = bf16 ? "prepare/gfx942/dense_of_bf16" : "prepare/gfx942/dense";
  operation.dimensions = {{"N"}, {"K"}, {"codes", {"blocks", "rows"}}, {"q"}, {"threads"}};
  operation.shapes =
      std::string("N=32*{1,3} K=32*{1,4,5,18} codes=* q=") + (bf16 ? "0" : "0,1") +
      " threads=1,3\nrandom 12: N=32*{1..6} K=32*{1..20} codes=* q=" + (bf16 ? "0" : "0,1") +
      " threads=1,3\nN=40 K=64 codes=rows q=0 threads=1\n"
      "N=32 K=72 codes=rows q=0 threads=1";
  operation.arguments = {
      {.name = "scale",
       .format = "e8m0",
       .role = Role::kInput,
       .extents = {"N / 32 + codes * (N - N / 32)", "K / 32"},
       .generate = RowCodes},
      {.name = "weight",
       .format = bf16 ? "bf16" : "e4m3fn",
       .role = Role::kInput,
       .extents = {"N", "K"},
       .allow_nan = false},
      {.name = "bytes",
       .format = "e4m3fnuz",
       .role = Role::kOutput,
       .extents = {"N", "roundup(K, 128)"}},
      {.name = "codes",
       .format = "e8m0",
       .role = Role::kOutput,
       .extents = {"N / 32", "roundup(K, 128) / 32"}},
  };
  if (bf16) operation.arguments[1].generate = Dequantized;
  operation.data = {Data::kRandomBits, Data::kAllCodes, Data::kNegativeZeros, Data::kNan,
                    Data::kExtremeScales};
  if (bf16) operation.data.pop_back();  // bf16 has no room for every value there
  operation.reference = [bf16](const Call& call) -> absl::Status {
    namespace gfx942 = reference::gfx942;
    const Bytes scale = BytesOf(call, "scale");
    absl::StatusOr<gfx942::DenseCopied> copied;
    if (bf16) {
      Tensor<Bf16, 2> weight(call["N"], call["K"]);
      std::memcpy(weight.data(), call.Data("weight"), call.Bytes("weight").size());
      copied = gfx942::LinearCopy(weight, scale);
    } else if (call["codes"] == 1) {
      const absl::StatusOr<Bytes> folded = reference::FoldRowCodes(scale);
      if (!folded.ok()) return folded.status();
      copied = gfx942::DenseCopy(
          BytesOf(call, "weight"), *folded,
          call["q"] == 1 ? gfx942::ChunkOrder::kChunkQ : gfx942::ChunkOrder::kNatural);
    } else {
      copied = gfx942::DenseCopy(
          BytesOf(call, "weight"), scale,
          call["q"] == 1 ? gfx942::ChunkOrder::kChunkQ : gfx942::ChunkOrder::kNatural);
    }
    if (!copied.ok()) return copied.status();
    Store(call, "bytes", copied->bytes);
    Store(call, "codes", copied->codes);
    return absl::OkStatus();
  };
  operation.host = [bf16](const Call& call) {
    const LinearSource source = LinearSource::Whole(
        call["N"], call["K"],
        bf16 ? LinearSource::WeightForm::kBf16 : LinearSource::WeightForm::kE4m3,
        call["codes"] == 1 ? 1 : 32);
    return RunPlans(call, gfx942::PlanDense(source, {.chunk_q = call["q"] == 1}));
  };
  return operation;
}

Operation Flashmla(bool o) {
  Operation operation;
  operation.name = o ? "prepare/flashmla/wo_a" : "prepare/flashmla/wq_b";
  operation.dimensions = {{"heads"}, {"dim"}, {"other"}, {"threads"}};
  operation.shapes =
      "heads=1,2,8 dim=32*{1,3,16} other=32,96 threads=1,3\n"
      "random 8: heads=1..12 dim=32*{1..8} other=32*{1..6} threads=1,3\n"
      "heads=3 dim=40 other=32 threads=1";
  const std::vector<std::string> weight = o ? std::vector<std::string>{"other", "heads * dim"}
                                            : std::vector<std::string>{"heads * dim", "other"};
  const std::vector<std::string> codes = {weight[0], weight[1] + " / 32"};
  operation.arguments = {
      {.name = "weight", .format = "e4m3fn", .role = Role::kInput, .extents = weight},
      {.name = "scale", .format = "e8m0", .role = Role::kInput, .extents = codes},
      {.name = "bytes", .format = "e4m3fn", .role = Role::kOutput, .extents = weight},
      {.name = "codes", .format = "e8m0", .role = Role::kOutput, .extents = codes},
  };
  operation.data = {Data::kIota, Data::kRandomBits};
  operation.reference = [o](const Call& call) -> absl::Status {
    namespace flashmla = reference::flashmla;
    const auto moved = (o ? flashmla::PermuteWoA : flashmla::PermuteWqB)(
        BytesOf(call, "weight"), BytesOf(call, "scale"), call["heads"]);
    if (!moved.ok()) return moved.status();
    Store(call, "bytes", moved->weight);
    Store(call, "codes", moved->codes);
    return absl::OkStatus();
  };
  operation.host = [o](const Call& call) {
    const std::int64_t features = call["heads"] * call["dim"];
    const LinearSource source =
        LinearSource::Whole(o ? call["other"] : features, o ? features : call["other"],
                            LinearSource::WeightForm::kE4m3, 1);
    return RunPlans(call, (o ? flashmla::PlanWoA : flashmla::PlanWqB)(source, call["heads"]));
  };
  return operation;
}

Operation Bf16Linear() {
  Operation operation;
  operation.name = "prepare/gfx950/bf16";
  operation.dimensions = {{"N"}, {"K"}, {"threads"}};
  operation.shapes =
      "N=1,5,32 K=32*{1,3,57} threads=1,3; random 8: N=1..40 K=32*{1..20} threads=1,3";
  operation.arguments = {
      {.name = "weight", .format = "e4m3fn", .role = Role::kInput, .extents = {"N", "K"}},
      {.name = "scale", .format = "e8m0", .role = Role::kInput, .extents = {"N", "K / 32"}},
      {.name = "bytes",
       .format = "bf16",
       .role = Role::kOutput,
       .extents = {"N", "K"},
       .contract = Contract::kNumbers},
      {.name = "codes", .format = "e8m0", .role = Role::kOutput, .extents = {"N", "K / 32"}},
  };
  operation.data = {Data::kRandomBits, Data::kAllCodes, Data::kSubnormals, Data::kNan,
                    Data::kExtremeScales};
  operation.reference = [](const Call& call) -> absl::Status {
    const Bytes scale = BytesOf(call, "scale");
    const auto values = reference::gfx950::Dequantize(BytesOf(call, "weight"), scale);
    if (!values.ok()) return values.status();
    Store(call, "bytes", *values);
    Store(call, "codes", scale);
    return absl::OkStatus();
  };
  operation.host = [](const Call& call) {
    const LinearSource source =
        LinearSource::Whole(call["N"], call["K"], LinearSource::WeightForm::kE4m3, 1);
    return RunPlans(call, gfx950::PlanLinear(source, gfx950::LinearKind::kBf16));
  };
  return operation;
}

const Registration kDense(Dense(false));
const Registration kDenseOfBf16(Dense(true));
const Registration kWqB(Flashmla(false));
const Registration kWoA(Flashmla(true));
const Registration kBf16(Bf16Linear());

}  // namespace
}  // namespace lanewise::differential
