// Rows of numbers to MXFP8 and MXFP4 by every rule, in weights/ and on the device.

#include "weights/quantize.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/status.h"
#include "hip/common/mx_quantize.h"
#include "reference/quantize/mx.h"
#include "tests/differential/loaded.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {
namespace {

struct Format {
  const char* name;
  ElementFormat format;
};
constexpr std::array<Format, 3> kFormats = {{
    {"e4m3fn", ElementFormat::kE4m3Fn},
    {"e4m3fnuz", ElementFormat::kE4m3Fnuz},
    {"e2m1", ElementFormat::kE2m1},
}};
constexpr float kFloors[] = {0.0f, 0x1p-126f, 1e-10f};

reference::QuantizeOptions Options(const Call& call, const Format& format) {
  reference::QuantizeOptions options;
  options.rule = static_cast<BlockRule>(call["rule"]);
  options.format = format.format;
  // 224 is what gfx942's kernels scale to, for products' sake.
  options.maximum =
      call["format"] == 1 && call["least"] == 1 ? 224.0f : LargestFinite(format.format);
  options.amax_floor = kFloors[call["floor"]];
  options.smallest_code = static_cast<int>(call["least"]);
  options.non_finite = static_cast<NonFinite>(call["inf"]);
  return options;
}

template <class T>
absl::Status Reference(const Call& call, const Format& format) {
  Tensor<T, 2> x(call["M"], call["K"]);
  std::memcpy(x.data(), call.Data("x"), call.Bytes("x").size());
  LANEWISE_ASSIGN_OR_RETURN(const reference::Quantized quantized,
                            reference::Quantize(x, Options(call, format)));
  std::copy_n(quantized.elements.data(), call.At("elements").bytes, call.Bytes("elements").data());
  std::copy_n(quantized.codes.data(), call.At("codes").bytes, call.Bytes("codes").data());
  return absl::OkStatus();
}

template <class T>
absl::Status OnHost(const Call& call, const Format& format) {
  const reference::QuantizeOptions options = Options(call, format);
  return QuantizeRows(call.Bytes("x"), sizeof(T) == 4 ? FloatType::kF32 : FloatType::kBf16,
                      call["M"], call["K"],
                      {.format = format.format,
                       .rule = options.rule,
                       .maximum = options.maximum,
                       .amax_floor = options.amax_floor,
                       .smallest_code = options.smallest_code,
                       .non_finite = options.non_finite},
                      call.Bytes("elements"), call.Bytes("codes"))
      .status();
}

template <class T>
absl::Status Launch(const Call& call, const Format& format) {
  LANEWISE_ASSIGN_OR_RETURN(const hip::MxQuantize* const launcher,
                            Loaded<hip::MxQuantize>(*call.device));
  const reference::QuantizeOptions options = Options(call, format);
  return launcher->Launch(
      {.input = sizeof(T) == 4 ? FloatType::kF32 : FloatType::kBf16,
       .format = format.format,
       .quantizer = {.rule = options.rule,
                     .non_finite = options.non_finite,
                     .maximum = options.maximum,
                     .amax_floor = options.amax_floor,
                     .smallest_code = static_cast<std::uint32_t>(options.smallest_code)},
       .rows = call["M"],
       .columns = call["K"]},
      {.x = call.Data("x"), .elements = call.Data("elements"), .codes = call.Data("codes")},
      *call.stream);
}

// An operation for each format of both sides: an argument's format is fixed.
template <class T>
Operation Quantize(const Format& format, const std::string& input) {
  const std::int64_t index = &format - kFormats.data();
  Operation operation;
  operation.name = std::string("quantize/") + input + "_to_" + format.name;
  operation.dimensions = {
      {"M"},
      {"K"},
      {"format", {kFormats[0].name, kFormats[1].name, kFormats[2].name}},
      {"rule", {"exact", "rounded_log2", "floor", "even", "round_up"}},
      {"floor", {"none", "normal", "moe"}},
      {"least"},
      {"inf", {"nan_block", "saturate"}},
  };
  const std::string of = std::string(" format=") + kFormats[index].name;
  operation.shapes = "M=3 K=96 rule=* floor=* least=0,1 inf=*" + of + "\n" +
                     "M=1,2,17 K=32*{1,2,57,90} rule=exact floor=normal least=0 inf=nan_block" +
                     of + "\nrandom 4: M=1..40 K=32*{1..40} rule=* floor=* least=0,1 inf=*" + of +
                     "\nM=0 K=64 rule=exact floor=none least=0 inf=nan_block" + of +
                     "\nM=2 K=48 rule=exact floor=none least=0 inf=nan_block" + of;
  operation.arguments = {
      {.name = "x", .format = input, .role = Role::kInput, .extents = {"M", "K"}},
      {.name = "elements", .format = format.name, .role = Role::kOutput, .extents = {"M", "K"}},
      {.name = "codes", .format = "e8m0", .role = Role::kOutput, .extents = {"M", "K / 32"}},
  };
  operation.data = {Data::kRandomBits,    Data::kAllCodes, Data::kNormal,        Data::kSubnormals,
                    Data::kNegativeZeros, Data::kNan,      Data::kExtremeScales, Data::kOneHot};
  operation.reference = [&format](const Call& call) { return Reference<T>(call, format); };
  operation.host = [&format](const Call& call) { return OnHost<T>(call, format); };
  operation.device = [&format](const Call& call) { return Launch<T>(call, format); };
  return operation;
}

const Registration kBf16ToE4m3Fn(Quantize<Bf16>(kFormats[0], "bf16"));
const Registration kBf16ToE4m3Fnuz(Quantize<Bf16>(kFormats[1], "bf16"));
const Registration kBf16ToE2m1(Quantize<Bf16>(kFormats[2], "bf16"));
const Registration kF32ToE4m3Fn(Quantize<float>(kFormats[0], "f32"));
const Registration kF32ToE4m3Fnuz(Quantize<float>(kFormats[1], "f32"));
const Registration kF32ToE2m1(Quantize<float>(kFormats[2], "f32"));

}  // namespace
}  // namespace lanewise::differential
