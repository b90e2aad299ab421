#include "hip/engine/gfx942/moe_weights.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "hip/common/alignment.h"

namespace lanewise::hip::gfx942 {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) absl::StrAppend(&text, text == "[" ? "" : ", ", size);
  return text + "]";
}

absl::Status CheckShape(std::string_view name, const std::vector<int64_t>& found,
                        const std::vector<int64_t>& expected) {
  if (found == expected) return absl::OkStatus();
  return InvalidArgument(name, " is ", ShapeText(found), ", expected ", ShapeText(expected));
}

absl::Status CheckBytes(std::string_view name, const PreparedCheckpoint::View& tensor,
                        int64_t expected, std::string_view padding) {
  const auto found = static_cast<int64_t>(tensor.bytes.size());
  if (found == expected) return absl::OkStatus();
  return InvalidArgument(name, " has ", found, " bytes, expected ", expected, " for ",
                         ShapeText(tensor.what->shape), " with ", padding);
}

constexpr std::string_view kExpertPadding = "hidden padded to 256 and inter to 64";
constexpr std::string_view kDensePadding = "K padded to 128";

using View = PreparedCheckpoint::View;

// A weight [rows, k] of a dense layer, `codes` those of its blocks.
absl::Status CheckDense(const std::string& name, const View& w, const std::string& codes_name,
                        const View& codes, int64_t rows, int64_t k) {
  absl::Status status = CheckShape(name, w.what->shape, {rows, k});
  status.Update(CheckShape(codes_name, codes.what->shape, {rows / 32, k / 32}));
  const int64_t padded = RoundUp(k, 128);
  status.Update(CheckBytes(name, w, rows * padded, kDensePadding));
  status.Update(CheckBytes(codes_name, codes, rows / 32 * (padded / 32), kDensePadding));
  return status;
}

// One after the other.
absl::StatusOr<Buffer> Joined(const View& a, const View& b, std::string_view name) {
  std::vector<uint8_t> bytes(a.bytes.begin(), a.bytes.end());
  bytes.insert(bytes.end(), b.bytes.begin(), b.bytes.end());
  return Buffer::Of(std::span<const uint8_t>(bytes), name);
}

// The tensor of that name, if there is a name.
absl::StatusOr<std::optional<Buffer>> UploadBias(const PreparedCheckpoint& file,
                                                 const std::string& name,
                                                 const std::vector<int64_t>& shape) {
  if (name.empty()) return std::nullopt;
  LANEWISE_ASSIGN_OR_RETURN(const View bias, file.Get(name, layout_tag::kPlain));
  if (absl::Status status = CheckShape(name, bias.what->shape, shape); !status.ok()) return status;
  if (bias.what->dtype != DType::kBf16) {
    return InvalidArgument(name, " is ", DTypeName(bias.what->dtype), ", expected BF16");
  }
  LANEWISE_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Of(bias.bytes, name));
  return std::optional<Buffer>(std::move(buffer));
}

}  // namespace

MoeTensorNames ExpertNames(std::string_view prefix) {
  const std::string begin(prefix);
  return {begin + ".w13.weight", begin + ".w13.scale", begin + ".w2.weight", begin + ".w2.scale"};
}

MoeTensorNames GptOssExpertNames(std::string_view prefix) {
  MoeTensorNames names = ExpertNames(prefix);
  names.w13_bias = std::string(prefix) + ".gate_up_proj_bias";
  names.w2_bias = std::string(prefix) + ".down_proj_bias";
  return names;
}

absl::StatusOr<MoeWeights> MoeWeights::Upload(const PreparedCheckpoint& file,
                                              const MoeTensorNames& names) {
  LANEWISE_ASSIGN_OR_RETURN(const View w13, file.Get(names.w13, layout_tag::kGfx942Fp4TileMajor));
  LANEWISE_ASSIGN_OR_RETURN(const View w13_codes,
                            file.Get(names.w13_codes, layout_tag::kGfx942CodesTileRounds));
  LANEWISE_ASSIGN_OR_RETURN(const View w2, file.Get(names.w2, layout_tag::kGfx942Fp4TileMajor));
  LANEWISE_ASSIGN_OR_RETURN(const View w2_codes,
                            file.Get(names.w2_codes, layout_tag::kGfx942RowCodes));

  const std::vector<int64_t>& shape = w13.what->shape;  // [experts, 2 inter, hidden]
  if (shape.size() != 3 || shape[1] % 2 != 0) {
    return InvalidArgument(names.w13, " is ", ShapeText(shape),
                           ", expected [experts, 2 inter, hidden]");
  }
  MoeProblem problem;
  problem.top_k = 1;
  problem.experts = shape[0];
  problem.inter = shape[1] / 2;
  problem.hidden = shape[2];
  if (const absl::Status status = CheckMoeProblem(problem); !status.ok()) {
    return InvalidArgument(names.w13, " is ", ShapeText(shape), ": ", status.message());
  }
  absl::Status status = CheckShape(names.w13_codes, w13_codes.what->shape,
                                   {problem.experts, 2 * problem.inter, problem.hidden / 32});
  status.Update(
      CheckShape(names.w2, w2.what->shape, {problem.experts, problem.hidden, problem.inter}));
  status.Update(CheckShape(names.w2_codes, w2_codes.what->shape,
                           {problem.experts, problem.hidden, problem.inter / 32}));
  const int64_t up = problem.experts * 2 * problem.padded_inter() * problem.padded_hidden();
  const int64_t down = problem.experts * problem.hidden * problem.padded_inter();
  status.Update(CheckBytes(names.w13, w13, up / 2, kExpertPadding));
  status.Update(CheckBytes(names.w13_codes, w13_codes, up / 32, kExpertPadding));
  status.Update(CheckBytes(names.w2, w2, down / 2, kExpertPadding));
  status.Update(CheckBytes(names.w2_codes, w2_codes, down / 32, kExpertPadding));
  if (!status.ok()) return status;

  LANEWISE_ASSIGN_OR_RETURN(Buffer w13_buffer, Buffer::Of(w13.bytes, names.w13));
  LANEWISE_ASSIGN_OR_RETURN(Buffer w13_codes_buffer, Buffer::Of(w13_codes.bytes, names.w13_codes));
  LANEWISE_ASSIGN_OR_RETURN(Buffer w2_buffer, Buffer::Of(w2.bytes, names.w2));
  LANEWISE_ASSIGN_OR_RETURN(Buffer w2_codes_buffer, Buffer::Of(w2_codes.bytes, names.w2_codes));
  LANEWISE_ASSIGN_OR_RETURN(std::optional<Buffer> w13_bias,
                            UploadBias(file, names.w13_bias, {problem.experts, 2 * problem.inter}));
  LANEWISE_ASSIGN_OR_RETURN(std::optional<Buffer> w2_bias,
                            UploadBias(file, names.w2_bias, {problem.experts, problem.hidden}));
  return MoeWeights(problem.experts, problem.hidden, problem.inter, std::move(w13_buffer),
                    std::move(w13_codes_buffer), std::move(w2_buffer), std::move(w2_codes_buffer),
                    std::move(w13_bias), std::move(w2_bias));
}

MoeProblem MoeWeights::Problem(int64_t tokens, int64_t top_k, const Swiglu& swiglu) const {
  MoeProblem problem;
  problem.tokens = tokens;
  problem.top_k = top_k;
  problem.experts = experts_;
  problem.hidden = hidden_;
  problem.inter = inter_;
  problem.swiglu = swiglu;
  return problem;
}

SharedTensorNames SharedExpertNames(std::string_view prefix) {
  const std::string begin(prefix);
  return {begin + ".w1.weight", begin + ".w1.scale",  begin + ".w3.weight",
          begin + ".w3.scale",  begin + ".w2.weight", begin + ".w2.scale"};
}

absl::StatusOr<SharedWeights> SharedWeights::Upload(const PreparedCheckpoint& file,
                                                    const SharedTensorNames& names) {
  LANEWISE_ASSIGN_OR_RETURN(const View gate, file.Get(names.gate, layout_tag::kGfx942Dense));
  LANEWISE_ASSIGN_OR_RETURN(const View gate_codes,
                            file.Get(names.gate_codes, layout_tag::kGfx942DenseCodes));
  LANEWISE_ASSIGN_OR_RETURN(const View up, file.Get(names.up, layout_tag::kGfx942Dense));
  LANEWISE_ASSIGN_OR_RETURN(const View up_codes,
                            file.Get(names.up_codes, layout_tag::kGfx942DenseCodes));
  LANEWISE_ASSIGN_OR_RETURN(const View down, file.Get(names.down, layout_tag::kGfx942Dense));
  LANEWISE_ASSIGN_OR_RETURN(const View down_codes,
                            file.Get(names.down_codes, layout_tag::kGfx942DenseCodes));

  const std::vector<int64_t>& shape = gate.what->shape;
  if (shape.size() != 2 || shape[0] % 32 != 0 || shape[1] % 32 != 0) {
    return InvalidArgument(names.gate, " is ", ShapeText(shape),
                           ", expected [inter, hidden], both multiples of 32");
  }
  const int64_t inter = shape[0], hidden = shape[1];
  absl::Status status = CheckDense(names.gate, gate, names.gate_codes, gate_codes, inter, hidden);
  status.Update(CheckDense(names.up, up, names.up_codes, up_codes, inter, hidden));
  status.Update(CheckDense(names.down, down, names.down_codes, down_codes, hidden, inter));
  if (!status.ok()) return status;

  // Tiles of 16 rows and codes of 32 lie one behind the other, so two matrices do too.
  LANEWISE_ASSIGN_OR_RETURN(Buffer gate_up, Joined(gate, up, names.gate));
  LANEWISE_ASSIGN_OR_RETURN(Buffer gate_up_codes, Joined(gate_codes, up_codes, names.gate_codes));
  LANEWISE_ASSIGN_OR_RETURN(Buffer down_buffer, Buffer::Of(down.bytes, names.down));
  LANEWISE_ASSIGN_OR_RETURN(Buffer down_codes_buffer,
                            Buffer::Of(down_codes.bytes, names.down_codes));
  return SharedWeights(hidden, inter, std::move(gate_up), std::move(gate_up_codes),
                       std::move(down_buffer), std::move(down_codes_buffer));
}

SharedExpert::Problem SharedWeights::Problem(int64_t tokens, const Swiglu& swiglu) const {
  SharedExpert::Problem problem;
  problem.tokens = tokens;
  problem.hidden = hidden_;
  problem.inter = inter_;
  problem.swiglu = swiglu;
  return problem;
}

}  // namespace lanewise::hip::gfx942
