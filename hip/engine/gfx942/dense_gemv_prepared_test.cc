// From a checkpoint's file to the GEMV's output: what prepare writes is what the kernel reads.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "checkpoint/prepare/prepare.h"
#include "checkpoint/prepared.h"
#include "checkpoint/safetensors/safetensors_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/gfx942/dense_gemv.h"
#include "hip/runtime/buffer.h"
#include "reference/gemm/test_matrices.h"
#include "reference/gfx942/dense_gemv.h"

namespace lanewise::hip::gfx942 {
namespace {

using reference::Mx;
using testing::HasSubstr;

constexpr int64_t kN = 96;
constexpr int64_t kK = 1184;  // Not a multiple of 128: 1280 as prepared.
constexpr int64_t kM = 5;

std::span<const uint8_t> Bytes(const Tensor<uint8_t, 2>& tensor) {
  return {tensor.data(), static_cast<size_t>(tensor.size())};
}

void WriteCheckpoint(const std::string& path, const Mx& w) {
  auto writer = SafetensorsWriter::Create(
      path,
      {{"layers.0.attn.wq_b.weight", DType::kF8E4m3, {kN, kK}},
       {"layers.0.attn.wq_b.weight_scale_inv", DType::kF8E8m0, {kN / 32, kK / 32}}},
      {});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Write(0, 0, Bytes(w.elements)).ok());
  ASSERT_TRUE(writer->Write(1, 0, Bytes(w.codes)).ok());
  const absl::Status finished = writer->Finish();
  ASSERT_TRUE(finished.ok()) << finished;
}

TEST(DenseGemvPrepared, ReadsWhatPrepareWrites) {
  std::mt19937 random(11);
  Mx ocp = reference::RandomMx(ElementFormat::kE4m3Fn, kN, kK, kN / 32, 118, 128, &random);
  ocp.elements(3, 70) = 0x80;  // The -0 that FNUZ would read as NaN.
  const Tensor<Bf16, 2> x = reference::RandomBf16(kM, kK, 3, &random);
  const TestDirectory directory;
  ASSERT_NO_FATAL_FAILURE(WriteCheckpoint(directory.File("in.safetensors"), ocp));
  PrepareRequest request;
  request.in = directory.File("in.safetensors");
  request.out = directory.File("out.safetensors");
  request.options.target = Target::kGfx942;
  const auto report = PrepareCheckpoint(request, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();

  const auto prepared = PreparedCheckpoint::Open(request.out, "gfx942");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto weight = prepared->Get("layers.0.attn.wq_b.weight", layout_tag::kGfx942Dense);
  ASSERT_TRUE(weight.ok()) << weight.status();
  const auto codes =
      prepared->Get("layers.0.attn.wq_b.weight_scale_inv", layout_tag::kGfx942DenseCodes);
  ASSERT_TRUE(codes.ok()) << codes.status();

  const Device device = *Device::OfArch("gfx942");
  const auto gemv = DenseGemv::Load(device);
  ASSERT_TRUE(gemv.ok()) << gemv.status();
  DenseGemv::Problem problem = {.m = kM,
                                .n = weight->what->shape[0],
                                .k = weight->what->shape[1],
                                .out = FloatType::kF32,
                                .w_layout = weight->what->layout,
                                .codes_layout = codes->what->layout};
  const auto workspace_bytes = DenseGemv::WorkspaceBytes(problem);
  ASSERT_TRUE(workspace_bytes.ok());
  const Buffer x_buffer = *Buffer::Of(std::span<const Bf16>(x.data(), kM * kK), "x");
  const Buffer w_buffer = *Buffer::Of(weight->bytes, "weights");
  const Buffer codes_buffer = *Buffer::Of(codes->bytes, "weight codes");
  const Buffer out = *Buffer::Of(
      std::span<const uint8_t>(std::vector<uint8_t>(kM * kN * sizeof(float), 0xa5)), "out");
  const Buffer workspace = *Buffer::Allocate(*workspace_bytes, "workspace");
  const DenseGemv::Operands operands = {x_buffer.data(), w_buffer.data(), codes_buffer.data(),
                                        out.data(), workspace.data()};
  // On a stream that is the engine's.
  const Stream engine = *Stream::Create();
  const Stream stream = Stream::Borrow(engine.handle());
  const absl::Status launched = gemv->Launch(problem, operands, stream);
  ASSERT_TRUE(launched.ok()) << launched;
  ASSERT_TRUE(engine.Synchronize().ok());

  const Mx fnuz =
      reference::OwnedMx(ElementFormat::kE4m3Fnuz, *reference::gfx942::FnuzWeight(ocp.view()));
  const auto expected = reference::gfx942::DenseGemv(x, fnuz.view(), reference::gfx942::kDensePlan);
  ASSERT_TRUE(expected.ok());
  const std::vector<float> values = *out.Read<float>();
  Tensor<float, 2> got(kM, kN);
  std::copy(values.begin(), values.end(), got.data());
  EXPECT_TRUE(reference::SameNumbers(*expected, got));

  // The file's other tensor in place of the weight.
  problem.w_layout = codes->what->layout;
  EXPECT_THAT(std::string(gemv->Launch(problem, operands, stream).message()),
              HasSubstr("w is in layout \"gfx942/dense_codes\""));
}

}  // namespace
}  // namespace lanewise::hip::gfx942
