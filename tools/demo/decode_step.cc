#include "tools/demo/decode_step.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "checkpoint/prepare/prepare.h"
#include "checkpoint/prepared.h"
#include "formats/formats.h"
#include "hip/engine/gfx942/moe_weights.h"
#include "hip/gfx942/moe_layer.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/stream.h"
#include "reference/gfx942/dense_gemv.h"
#include "reference/gfx942/moe_semantics.h"
#include "tools/demo/checkpoint_maker.h"

namespace lanewise::tools {
namespace {

namespace gfx942 = hip::gfx942;
using hip::Buffer;

constexpr std::uint64_t kSeed = 941;
constexpr char kPrefix[] = "layers.0.ffn.experts";
constexpr char kSharedPrefix[] = "layers.0.ffn.shared_experts";

// Plain experts as the reference takes them: gate rows, then up rows. Of the shared one OCP bytes.
struct PlainExperts {
  Tensor<std::uint8_t, 3> w13, w13_codes, w2, w2_codes;
  Tensor<std::uint8_t, 2> gate_up, gate_up_codes, down, down_codes;

  explicit PlainExperts(const DecodeStep& s)
      : w13(s.experts, 2 * s.inter, s.hidden / 2),
        w13_codes(s.experts, 2 * s.inter, s.hidden / 32),
        w2(s.experts, s.hidden, s.inter / 2),
        w2_codes(s.experts, s.hidden, s.inter / 32),
        gate_up(2 * s.inter, s.hidden),
        gate_up_codes(2 * s.inter / 32, s.hidden / 32),
        down(s.hidden, s.inter),
        down_codes(s.hidden / 32, s.inter / 32) {}
};

// Adds an expert's matrix to the checkpoint and to the reference's tensors, whose rows of this
// matrix begin at `to` and `codes_to`.
void AddMatrix(CheckpointMaker* maker, const std::string& name, std::int64_t rows, std::int64_t k,
               std::uint8_t* to, std::uint8_t* codes_to) {
  maker->AddE2m1(name + ".weight", DType::kI8, {rows, k / 2});
  const std::vector<std::uint8_t>& bytes = maker->tensors().back().bytes;
  std::copy(bytes.begin(), bytes.end(), to);
  maker->AddCodes(name + ".scale", DType::kF8E8m0, {rows, k / 32});
  std::vector<std::uint8_t>& codes = maker->tensors().back().bytes;
  // Scales that leave the sums about 1, where the activation's curve is.
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(117 + code % 8);
  std::copy(codes.begin(), codes.end(), codes_to);
}

// The same of a matrix of the shared expert.
void AddSharedMatrix(CheckpointMaker* maker, const std::string& name, std::int64_t rows,
                     std::int64_t k, std::uint8_t* to, std::uint8_t* codes_to) {
  maker->AddE4m3(name + ".weight", rows, k);
  std::vector<std::uint8_t>& bytes = maker->tensors().back().bytes;
  // Numbers below 2: half of all bytes have exponents that weights do not.
  for (std::uint8_t& byte : bytes) byte &= 0xBF;
  std::copy(bytes.begin(), bytes.end(), to);
  maker->AddCodes(name + ".scale", DType::kF8E8m0, {rows / 32, k / 32});
  std::vector<std::uint8_t>& codes = maker->tensors().back().bytes;
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(118 + code % 8);
  std::copy(codes.begin(), codes.end(), codes_to);
}

CheckpointMaker MakeCheckpoint(const DecodeStep& s, PlainExperts* plain) {
  CheckpointMaker maker(kSeed);
  maker.metadata()["format"] = "pt";
  for (std::int64_t e = 0; e < s.experts; ++e) {
    const std::string name = absl::StrCat(kPrefix, ".", e, ".");
    AddMatrix(&maker, name + "w1", s.inter, s.hidden, &plain->w13(e, 0, 0),
              &plain->w13_codes(e, 0, 0));
    AddMatrix(&maker, name + "w3", s.inter, s.hidden, &plain->w13(e, s.inter, 0),
              &plain->w13_codes(e, s.inter, 0));
    AddMatrix(&maker, name + "w2", s.hidden, s.inter, &plain->w2(e, 0, 0),
              &plain->w2_codes(e, 0, 0));
  }
  const std::string shared = absl::StrCat(kSharedPrefix, ".");
  AddSharedMatrix(&maker, shared + "w1", s.inter, s.hidden, plain->gate_up.data(),
                  plain->gate_up_codes.data());
  AddSharedMatrix(&maker, shared + "w3", s.inter, s.hidden, &plain->gate_up(s.inter, 0),
                  &plain->gate_up_codes(s.inter / 32, 0));
  AddSharedMatrix(&maker, shared + "w2", s.hidden, s.inter, plain->down.data(),
                  plain->down_codes.data());
  return maker;
}

struct Tokens {
  Tensor<Bf16, 2> x;
  Tensor<std::int32_t, 2> experts;
  Tensor<float, 2> weights;
};

// Random tokens, each to `top_k` different experts.
Tokens DrawTokens(const DecodeStep& s) {
  std::mt19937_64 random(kSeed);
  Tokens tokens = {Tensor<Bf16, 2>(s.tokens, s.hidden), Tensor<std::int32_t, 2>(s.tokens, s.top_k),
                   Tensor<float, 2>(s.tokens, s.top_k)};
  for (std::int64_t i = 0; i < tokens.x.size(); ++i) {
    tokens.x.data()[i] = Bf16::FromFloat(static_cast<float>(random() % 4001) / 2000.0f - 1.0f);
  }
  std::vector<std::int32_t> order;
  for (std::int64_t e = 0; e < s.experts; ++e) order.push_back(static_cast<std::int32_t>(e));
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    for (std::size_t i = order.size() - 1; i > 0; --i)
      std::swap(order[i], order[random() % (i + 1)]);
    for (std::int64_t slot = 0; slot < s.top_k; ++slot) {
      tokens.experts(t, slot) = order[static_cast<std::size_t>(slot)];
      tokens.weights(t, slot) = static_cast<float>(1 + random() % 1000) / 1000.0f;
    }
  }
  return tokens;
}

template <class T>
absl::StatusOr<Buffer> Upload(const Tensor<T, 2>& tensor, std::string_view name) {
  return Buffer::Of(std::span<const T>(tensor.data(), static_cast<std::size_t>(tensor.size())),
                    name);
}

// The layer's output.
absl::StatusOr<std::vector<Bf16>> RunLayer(const DecodeStep& step, const std::string& prepared,
                                           const Tokens& tokens, DecodeReport* report) {
  const absl::StatusOr<hip::Device> device = hip::Device::OfArch("gfx942");
  if (!device.ok()) return device.status();
  if (absl::Status status = device->MakeCurrent(); !status.ok()) return status;
  report->device = device->name();
  const absl::StatusOr<PreparedCheckpoint> file = PreparedCheckpoint::Open(prepared, "gfx942");
  if (!file.ok()) return file.status();
  const auto weights = gfx942::MoeWeights::Upload(*file, gfx942::ExpertNames(kPrefix));
  if (!weights.ok()) return weights.status();
  const auto shared =
      gfx942::SharedWeights::Upload(*file, gfx942::SharedExpertNames(kSharedPrefix));
  if (!shared.ok()) return shared.status();
  const auto layer = gfx942::MoeLayer::Load(*device);
  if (!layer.ok()) return layer.status();
  const gfx942::MoeLayer::Problem problem = {
      weights->Problem(step.tokens, step.top_k, kDeepSeekSwiglu),
      shared->Problem(step.tokens, kDeepSeekSwiglu)};
  const absl::StatusOr<hip::LaunchCost> cost = gfx942::MoeLayer::Cost(problem);
  if (!cost.ok()) return cost.status();
  report->launches = cost->launches;

  const absl::StatusOr<Buffer> x = Upload(tokens.x, "x");
  if (!x.ok()) return x.status();
  const absl::StatusOr<Buffer> experts = Upload(tokens.experts, "experts");
  if (!experts.ok()) return experts.status();
  const absl::StatusOr<Buffer> pick_weights = Upload(tokens.weights, "pick weights");
  if (!pick_weights.ok()) return pick_weights.status();
  const absl::StatusOr<Buffer> out = Buffer::Allocate(step.tokens * step.hidden * 2, "out");
  if (!out.ok()) return out.status();
  const absl::StatusOr<Buffer> workspace = Buffer::Allocate(cost->workspace_bytes, "workspace");
  if (!workspace.ok()) return workspace.status();
  const hip::Stream stream = hip::Stream::Default();
  gfx942::MoeLayer::Operands operands;
  operands.x = x->data();
  operands.experts = experts->data();
  operands.weights = pick_weights->data();
  operands.out = out->data();
  operands.workspace = workspace->data();
  absl::Status status =
      layer->Launch(problem, {weights->pointers(), shared->pointers()}, operands, stream);
  if (status.ok()) status = stream.Synchronize();
  if (!status.ok()) return status;
  return out->Read<Bf16>();
}

// What the layer's output should be.
absl::StatusOr<Tensor<Bf16, 2>> Expected(const Tokens& tokens, const PlainExperts& plain) {
  namespace judge = reference::gfx942;
  const auto gate_up =
      judge::FnuzWeight({ElementFormat::kE4m3Fn, plain.gate_up, plain.gate_up_codes});
  if (!gate_up.ok()) return gate_up.status();
  const auto down = judge::FnuzWeight({ElementFormat::kE4m3Fn, plain.down, plain.down_codes});
  if (!down.ok()) return down.status();
  const auto shared =
      judge::SharedExpert(tokens.x, {ElementFormat::kE4m3Fnuz, gate_up->elements, gate_up->codes},
                          {ElementFormat::kE4m3Fnuz, down->elements, down->codes});
  if (!shared.ok()) return shared.status();
  const auto routed =
      judge::RoutedExperts(tokens.x, {plain.w13, plain.w13_codes, plain.w2, plain.w2_codes},
                           {tokens.experts, tokens.weights}, &*shared);
  if (!routed.ok()) return routed.status();
  return routed->out;
}

}  // namespace

absl::StatusOr<DecodeReport> RunDecodeStep(const DecodeStep& step, const std::string& directory) {
  PlainExperts plain(step);
  PrepareRequest prepare;
  prepare.in = directory + "/experts.safetensors";
  prepare.out = directory + "/experts-gfx942.safetensors";
  prepare.options.target = Target::kGfx942;
  absl::Status status = MakeCheckpoint(step, &plain).Write(prepare.in);
  if (!status.ok()) return status;
  const absl::StatusOr<PrepareReport> prepared = PrepareCheckpoint(prepare, nullptr);
  if (!prepared.ok()) return prepared.status();

  const Tokens tokens = DrawTokens(step);
  DecodeReport report;
  const absl::StatusOr<std::vector<Bf16>> got = RunLayer(step, prepare.out, tokens, &report);
  if (!got.ok()) return got.status();
  const std::set<std::int32_t> used(tokens.experts.data(),
                                    tokens.experts.data() + tokens.experts.size());
  report.experts_used = static_cast<std::int64_t>(used.size());
  const std::int64_t elements = 3 * step.inter * step.hidden;  // of an expert
  report.weight_bytes =
      report.experts_used * (elements / 2 + elements / 32) + elements + elements / 1024;

  const absl::StatusOr<Tensor<Bf16, 2>> expected = Expected(tokens, plain);
  if (!expected.ok()) return expected.status();
  report.elements = expected->size();
  for (std::int64_t i = 0; i < report.elements; ++i) {
    const Bf16 is = (*got)[static_cast<std::size_t>(i)], should_be = expected->data()[i];
    if (is.bits() == should_be.bits()) continue;
    if (report.different++ > 0) continue;
    report.first_difference =
        absl::StrFormat("token %d, column %d is %g, the reference says %g", i / step.hidden,
                        i % step.hidden, is.ToFloat(), should_be.ToFloat());
  }
  return report;
}

}  // namespace lanewise::tools
