// Prints the error of every planned GEMM semantics against the exact one.
//
//   bazel run //benchmarks:accuracy -- [--data=FILE.safetensors] [--k=5120] [--seed=1]
//
// With --data, every F8_E4M3 tensor of the file that has a scale NAME_scale_inv of block codes is
// measured too.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "base/status.h"
#include "benchmarks/accuracy_cases.h"
#include "checkpoint/safetensors/safetensors.h"

namespace lanewise {
namespace {

constexpr std::int64_t kTokens = 16;
constexpr std::int64_t kColumns = 96;

absl::Status PrintCases(const std::string& data, const AccuracyOperands& operands) {
  for (const AccuracyCase& accuracy_case : AccuracyCases()) {
    LANEWISE_ASSIGN_OR_RETURN(const reference::Accuracy accuracy, accuracy_case.measure(operands));
    std::printf("%-36s %-14s %9.3g %9.3g %9.3g %9.3f %6.0f%s\n",
                std::string(accuracy_case.name).c_str(), data.c_str(), accuracy.max_ulps,
                accuracy.rms_ulps, accuracy.max_bf16_ulps, accuracy.worst, accuracy.bound,
                accuracy.WithinBound() ? "" : "  BEYOND ITS BOUND");
  }
  return absl::OkStatus();
}

Tensor<std::uint8_t, 2> BytesOf(const SafetensorsFile& file, const TensorInfo& info) {
  Tensor<std::uint8_t, 2> bytes(info.shape[0], info.shape[1]);
  if (bytes.size() > 0) std::memcpy(bytes.data(), file.Bytes(info).data(), file.Bytes(info).size());
  return bytes;
}

absl::Status PrintFile(const std::string& path, unsigned seed) {
  LANEWISE_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  int measured = 0;
  for (const TensorInfo& weight : file.tensors()) {
    const TensorInfo* scale = file.Find(weight.name + "_scale_inv");
    if (weight.dtype != DType::kF8E4m3 || scale == nullptr || weight.shape.size() != 2 ||
        scale->dtype != DType::kF8E8m0 || scale->shape.size() != 2) {
      continue;
    }
    if (weight.shape[1] % 256 != 0) {
      std::printf("%s: K = %lld is not a multiple of 256, skipped\n", weight.name.c_str(),
                  static_cast<long long>(weight.shape[1]));
      continue;
    }
    LANEWISE_ASSIGN_OR_RETURN(
        const AccuracyOperands operands,
        OperandsOfWeight({BytesOf(file, weight), BytesOf(file, *scale)}, kTokens, seed));
    ++measured;
    std::printf("%s:\n", weight.name.c_str());
    LANEWISE_RETURN_IF_ERROR(PrintCases("real", operands));
  }
  std::printf("%d tensors of %s measured\n", measured, path.c_str());
  return absl::OkStatus();
}

absl::Status Run(const std::string& path, std::int64_t k, unsigned seed) {
  std::printf(
      "%lld tokens, %lld columns, K %lld, seed %u; errors in units of the last place of the "
      "exact value\n",
      static_cast<long long>(kTokens), static_cast<long long>(kColumns), static_cast<long long>(k),
      seed);
  std::printf(
      "worst: |planned - exact| in 2^-24 of the sum of the products' magnitudes; it must not "
      "exceed bound\n\n");
  std::printf("%-36s %-14s %9s %9s %9s %9s %6s\n", "semantics", "data", "f32 max", "f32 rms",
              "bf16 max", "worst", "bound");
  for (const AccuracyData data : kAllAccuracyData) {
    const AccuracyOperands operands = MakeAccuracyOperands(data, kTokens, kColumns, k, seed);
    LANEWISE_RETURN_IF_ERROR(PrintCases(std::string(AccuracyDataName(data)), operands));
  }
  if (path.empty()) {
    std::printf("no --data: real weights are not measured\n");
    return absl::OkStatus();
  }
  return PrintFile(path, seed);
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  CLI::App app("The error of every planned GEMM semantics against the exact one.");
  std::string path;
  std::int64_t k = 5120;
  unsigned seed = 1;
  app.add_option("--data", path, "a safetensors file with F8_E4M3 weights and E8M0 block codes");
  app.add_option("--k", k, "the depth of random operands, a multiple of 256")
      ->check([](const std::string& text) {
        const long long value = std::atoll(text.c_str());
        return value > 0 && value % 256 == 0 ? std::string() : "expected a multiple of 256";
      });
  app.add_option("--seed", seed, "of the random operands");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = lanewise::Run(path, k, seed);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
