// decode/FORMAT and encode/FORMAT: every element format to floats and from them, against a search
// in the table of its numbers. The table is arithmetic on the format's description, exact in
// doubles, and shares nothing with the integer shifts of formats/element.h.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "formats/registry.h"
#include "tests/differential/data.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {
namespace {

// A format's finite magnitudes; the code of magnitude i is i.
struct NumberLine {
  std::vector<double> magnitudes;
  double overflow = 0;  // from here on a magnitude rounds to more than the largest
  std::uint32_t sign = 0;
  std::uint32_t infinity = 0;  // 0: none
};

NumberLine LineOf(const ElementSpec& spec) {
  NumberLine line;
  const int all = 1 << (spec.exponent_bits + spec.mantissa_bits);
  const int fractions = 1 << spec.mantissa_bits;
  if (spec.has_sign) line.sign = static_cast<std::uint32_t>(all);
  int finite = all;
  if (spec.specials == Specials::kAllOnes) finite = all - 1;
  if (spec.specials == Specials::kTopExponent) {
    finite = all - fractions;
    line.infinity = static_cast<std::uint32_t>(finite);
  }
  const auto number = [&](int code) {
    const int field = code / fractions, fraction = code % fractions;
    const bool full = field > 0 || !spec.has_zero;
    return std::ldexp(full ? fractions + fraction : fraction,
                      (full ? field : 1) - spec.bias - spec.mantissa_bits);
  };
  for (int code = 0; code < finite; ++code) line.magnitudes.push_back(number(code));
  line.overflow = (number(finite - 1) + number(finite)) / 2;
  return line;
}

std::uint32_t Encoded(const FormatView& format, const NumberLine& line, float value,
                      bool saturate) {
  const ElementSpec& spec = *format.spec;
  const auto largest = static_cast<std::uint32_t>(line.magnitudes.size() - 1);
  const std::uint32_t sign = std::signbit(value) ? line.sign : 0;
  const bool has_nan = spec.specials != Specials::kNone;
  if (std::isnan(value)) return has_nan ? sign | spec.nan : largest;
  if (!spec.has_sign && value < 0) return spec.nan;
  const double magnitude = std::fabs(static_cast<double>(value));
  const bool odd_largest = largest % 2 == 1 || spec.mantissa_bits == 0;
  if (magnitude > line.overflow || (magnitude == line.overflow && odd_largest)) {
    if (saturate || !has_nan) return sign | largest;
    return sign | (line.infinity != 0 ? line.infinity : spec.nan);
  }
  const auto above = std::lower_bound(line.magnitudes.begin(), line.magnitudes.end(), magnitude);
  std::uint32_t code = static_cast<std::uint32_t>(above - line.magnitudes.begin());
  if (code > largest) {
    code = largest;
  } else if (code > 0 && line.magnitudes[code] != magnitude) {
    // The sum of two neighbours is exact, and so is twice the magnitude.
    const double neighbours = line.magnitudes[code - 1] + line.magnitudes[code];
    // Without a fraction, the larger power of two is the even one.
    const bool tie_down = spec.mantissa_bits > 0 && code % 2 == 1;
    if (2 * magnitude < neighbours || (2 * magnitude == neighbours && tie_down)) --code;
  }
  // The only zero of FNUZ has no sign.
  if (code == 0 && spec.specials == Specials::kNegativeZero) return 0;
  return sign | code;
}

float Decoded(const FormatView& format, const NumberLine& line, std::uint32_t code) {
  code &= (1u << format.bits) - 1;
  const std::uint32_t magnitude = code & ~line.sign;
  float value;
  if (format.spec->specials == Specials::kNegativeZero && code == line.sign) {
    value = std::numeric_limits<float>::quiet_NaN();
  } else if (magnitude < line.magnitudes.size()) {
    value = static_cast<float>(line.magnitudes[magnitude]);
  } else if (line.infinity != 0 && magnitude == line.infinity) {
    value = std::numeric_limits<float>::infinity();
  } else {
    value = std::numeric_limits<float>::quiet_NaN();
  }
  return (code & line.sign) != 0 ? -value : value;
}

// kAllCodes: every bf16. kIota: halfway between two neighbours of the format, and a unit of the
// last place to either side. Else as the engine would.
void Generate(const NumberLine& line, Data data, const Call& call, std::mt19937_64& random) {
  const Operand& x = call.At("x");
  auto* const bits = call.Data<std::uint32_t>("x");
  if (data != Data::kAllCodes && data != Data::kIota) {
    Argument plain = *x.argument;
    plain.generate = {};
    Operand operand = x;
    operand.argument = &plain;
    Fill(data, operand, call, random);
    return;
  }
  for (std::int64_t i = 0; i < x.elements; ++i) {
    if (data == Data::kAllCodes) {
      bits[i] = static_cast<std::uint32_t>(i) << 16;
      continue;
    }
    const std::uint64_t draw = random();
    const std::size_t at = draw % line.magnitudes.size();
    const double middle = at + 1 < line.magnitudes.size()
                              ? (line.magnitudes[at] + line.magnitudes[at + 1]) / 2
                              : line.overflow;
    // Of neighbours 2^-149 apart the middle is no float; the one it becomes does as well.
    bits[i] = std::bit_cast<std::uint32_t>(static_cast<float>(middle));
    if ((draw >> 32) % 3 == 0) ++bits[i];
    if ((draw >> 32) % 3 == 1 && bits[i] > 0) --bits[i];
    if ((draw >> 40) % 2 == 0) bits[i] |= 0x80000000u;
  }
}

Operation Encode(const FormatView& format) {
  const NumberLine line = LineOf(*format.spec);
  Operation operation;
  operation.name = "encode/" + std::string(format.name);
  operation.dimensions = {
      {"N"}, {"overflow", {"non_finite", "saturate"}}, {"from", {"f32", "f64"}}};
  operation.shapes = "N=65536 overflow=* from=*; N=2,254 overflow=* from=f32";
  operation.arguments = {
      {.name = "x",
       .format = "f32",
       .extents = {"N"},
       .generate = [line](Data data, const Call& call,
                          std::mt19937_64& random) { Generate(line, data, call, random); }},
      {.name = "out", .format = std::string(format.name), .role = Role::kOutput, .extents = {"N"}}};
  operation.data = {Data::kAllCodes,      Data::kIota, Data::kRandomBits, Data::kNormal,
                    Data::kNegativeZeros, Data::kNan,  Data::kSubnormals, Data::kExtremeScales};
  const int stored = FormatBits(format.name);
  operation.reference = [&format, line, stored](const Call& call) {
    for (std::int64_t i = 0; i < call["N"]; ++i) {
      SetBits(stored, call.Data("out"), i,
              Encoded(format, line, call.Data<float>("x")[i], call["overflow"] == 1));
    }
    return absl::OkStatus();
  };
  operation.host = [&format, stored](const Call& call) {
    const Overflow overflow = call["overflow"] == 1 ? Overflow::kSaturate : Overflow::kNonFinite;
    for (std::int64_t i = 0; i < call["N"]; ++i) {
      const float x = call.Data<float>("x")[i];
      SetBits(stored, call.Data("out"), i,
              call["from"] == 1 ? format.encode_double(x, overflow) : format.encode(x, overflow));
    }
    return absl::OkStatus();
  };
  return operation;
}

Operation Decode(const FormatView& format) {
  const NumberLine line = LineOf(*format.spec);
  Operation operation;
  operation.name = "decode/" + std::string(format.name);
  operation.dimensions = {{"N"}};
  // Every code; and a quarter of them, which ends with a number and not with a NaN of any payload.
  operation.shapes =
      "N=" + std::to_string(1 << format.bits) + "," + std::to_string(1 << (format.bits - 2));
  operation.arguments = {{.name = "x",
                          .format = std::string(format.name),
                          .extents = {"N"},
                          .generate =
                              [](Data, const Call& call, std::mt19937_64&) {
                                const int bits = FormatBits(call.At("x").argument->format);
                                for (std::int64_t i = 0; i < call["N"]; ++i) {
                                  SetBits(bits, call.Data("x"), i, static_cast<std::uint32_t>(i));
                                }
                              }},
                         {.name = "out",
                          .format = "f32",
                          .role = Role::kOutput,
                          .extents = {"N"},
                          .contract = Contract::kNumbers}};
  operation.data = {Data::kAllCodes};
  const int stored = FormatBits(format.name);
  operation.reference = [&format, line, stored](const Call& call) {
    for (std::int64_t i = 0; i < call["N"]; ++i) {
      call.Data<float>("out")[i] = Decoded(format, line, GetBits(stored, call.Data("x"), i));
    }
    return absl::OkStatus();
  };
  operation.host = [&format, stored](const Call& call) {
    for (std::int64_t i = 0; i < call["N"]; ++i) {
      call.Data<float>("out")[i] =
          format.decode(static_cast<std::uint16_t>(GetBits(stored, call.Data("x"), i)));
    }
    return absl::OkStatus();
  };
  return operation;
}

const std::vector<Registration> kRegistrations = [] {
  std::vector<Registration> registrations;
  for (const FormatView& format : kFormats) {
    registrations.emplace_back(Encode(format));
    registrations.emplace_back(Decode(format));
  }
  return registrations;
}();

}  // namespace
}  // namespace lanewise::differential
