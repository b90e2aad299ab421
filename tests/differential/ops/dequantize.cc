// dequantize/FORMAT_to_OUTPUT: MXFP8 and MXFP4 back to bf16 or float32, on the device.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "hip/common/mx_dequantize.h"
#include "reference/quantize/mx.h"
#include "tests/differential/loaded.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {
namespace {

using hip::MxDequantize;

struct Format {
  const char* name;
  ElementFormat format;
};
constexpr Format kFormats[] = {{"e4m3fn", ElementFormat::kE4m3Fn},
                               {"e4m3fnuz", ElementFormat::kE4m3Fnuz},
                               {"e2m1", ElementFormat::kE2m1}};

absl::Status Reference(const Call& call, const Format& format, bool bf16) {
  reference::Quantized quantized;
  const int64_t per_byte = 8 / ElementBits(format.format);
  quantized.elements.resize(call["M"], call["K"] / per_byte);
  quantized.codes.resize(call["M"] / call["R"], call["K"] / 32);
  std::copy_n(call.Data<uint8_t>("elements"), quantized.elements.size(), quantized.elements.data());
  std::copy_n(call.Data<uint8_t>("codes"), quantized.codes.size(), quantized.codes.data());
  if (bf16) {
    LANEWISE_ASSIGN_OR_RETURN(const auto values,
                              reference::DequantizeToBf16(quantized, format.format));
    for (int64_t i = 0; i < values.size(); ++i) {
      call.Data<uint16_t>("out")[i] = values.data()[i].bits();
    }
    return absl::OkStatus();
  }
  LANEWISE_ASSIGN_OR_RETURN(const auto values,
                            reference::DequantizeToFloat(quantized, format.format));
  std::copy_n(values.data(), values.size(), call.Data<float>("out"));
  return absl::OkStatus();
}

absl::Status OnDevice(const Call& call, const Format& format, bool bf16) {
  LANEWISE_ASSIGN_OR_RETURN(const MxDequantize* const dequantize,
                            Loaded<MxDequantize>(*call.device));
  return dequantize->Launch({.format = format.format,
                             .output = bf16 ? FloatType::kBf16 : FloatType::kF32,
                             .rows = call["M"],
                             .columns = call["K"],
                             .rows_per_code = call["R"]},
                            {call.Data("elements"), call.Data("codes"), call.Data("out")},
                            *call.stream);
}

// A code serves R rows.
Operation DequantizeRows(const Format& format, bool bf16) {
  Operation operation;
  operation.name = absl::StrCat("dequantize/", format.name, "_to_", bf16 ? "bf16" : "f32");
  operation.dimensions = {{"M"}, {"K"}, {"R"}};
  operation.shapes =
      "M=1,2,3,33 K=32*{1,2,3,57} R=1\n"
      "M=32,96 K=32,160 R=1,32\n"
      "random 6: M=1..40 K=32*{1..60} R=1\n"
      "random 3: M=32*{1..3} K=32*{1..20} R=32\n";
  operation.arguments = {{.name = "elements", .format = format.name, .extents = {"M", "K"}},
                         {.name = "codes", .format = "e8m0", .extents = {"M / R", "K / 32"}},
                         {.name = "out",
                          .format = bf16 ? "bf16" : "f32",
                          .role = Role::kOutput,
                          .extents = {"M", "K"},
                          .contract = bf16 ? Contract::kBits : Contract::kNumbers}};
  operation.data = {Data::kRandomBits,    Data::kAllCodes, Data::kSubnormals,
                    Data::kNegativeZeros, Data::kNan,      Data::kExtremeScales};
  operation.reference = [&format, bf16](const Call& call) { return Reference(call, format, bf16); };
  operation.device = [&format, bf16](const Call& call) { return OnDevice(call, format, bf16); };
  return operation;
}

const std::vector<Registration> kRegistrations = [] {
  std::vector<Registration> registrations;
  for (const Format& format : kFormats) {
    for (const bool bf16 : {true, false}) registrations.emplace_back(DequantizeRows(format, bf16));
  }
  return registrations;
}();

}  // namespace
}  // namespace lanewise::differential
