// reference/'s quantizers and their inverses, on the host, against their definition in real
// numbers: scale codes by trying or by logarithms, elements by a search among the format's values.
// (reference/ does both by the bits of float32.)

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "formats/registry.h"
#include "reference/exact/accumulator.h"
#include "reference/quantize/mx.h"
#include "reference/quantize/tile.h"
#include "tests/differential/data.h"
#include "tests/differential/matrices.h"

namespace lanewise::differential {
namespace {

using reference::QuantizeOptions;

constexpr float kFloors[] = {0.0f, 0x1p-126f, 1e-10f};

QuantizeOptions OptionsOf(const Call& call, ElementFormat format) {
  QuantizeOptions options;
  options.rule = static_cast<BlockRule>(call["rule"]);
  options.format = format;
  options.maximum = LargestFinite(format);
  // gfx942's kernels scale to 224.
  if (format == ElementFormat::kE4m3Fnuz && call["least"] == 1) options.maximum = 224.0f;
  options.amax_floor = kFloors[call["floor"]];
  options.smallest_code = static_cast<int>(call["least"]);
  options.non_finite = static_cast<NonFinite>(call["inf"]);
  return options;
}

// ---- the definition (semantics/block_rule.h) ----

// The code before it is clamped, of a positive finite a.
int UnclampedCode(float a, const QuantizeOptions& options) {
  const double max = options.maximum;
  switch (options.rule) {
    case BlockRule::kExact: {
      int code = -200;
      while (a > std::ldexp(max, code - 127)) ++code;
      return code;
    }
    case BlockRule::kRoundedLog2: {
      const float quotient = a / options.maximum;
      if (quotient == 0) return 0;
      return static_cast<int>(
                 std::ceil(static_cast<float>(std::log2(static_cast<long double>(quotient))))) +
             127;
    }
    case BlockRule::kFloor:
      return std::ilogb(a) - std::ilogb(max) + 127;
    case BlockRule::kEven: {
      // Below 2^-126 there is no exponent to round to; every format's emax makes it the smallest.
      if (a < 0x1p-126f) return 0;
      const int exponent = std::ilogb(a);
      const double half_up = std::floor(2 * std::ldexp(a, -exponent) + 0.5) / 2;
      return exponent + (half_up == 2 ? 1 : 0) - std::ilogb(max) + 127;
    }
    case BlockRule::kRoundUp: {
      const float v = a * (1.0f / options.maximum);
      if (v < 0x1p-126f) return v == 0 ? 0 : 1;
      return std::ilogb(v) + 127 + (v != std::ldexp(1.0f, std::ilogb(v)) ? 1 : 0);
    }
  }
  return 0;
}

std::uint8_t CodeOf(float amax, const QuantizeOptions& options) {
  if (std::isnan(amax)) return 255;
  if (std::isinf(amax)) return options.non_finite == NonFinite::kNanBlock ? 255 : 254;
  const float a = std::max(amax, options.amax_floor);
  const int code = a == 0 ? 0 : UnclampedCode(a, options);
  return static_cast<std::uint8_t>(std::clamp(code, options.smallest_code, 254));
}

// The nearest of the format's numbers, the even code of two as near.
class Nearest {
 public:
  explicit Nearest(ElementFormat format)
      : view_(*FindFormat(ElementFormatName(format))),
        sign_(1u << (view_.bits - 1)),
        signed_zero_(view_.spec->specials != Specials::kNegativeZero) {
    for (std::uint32_t code = 0; code < sign_; ++code) {
      const double value = view_.decode(static_cast<std::uint16_t>(code));
      if (!std::isfinite(value)) break;
      values_.push_back(value);
    }
  }
  // |x| is at most the largest.
  std::uint8_t operator()(double x) const {
    const double size = std::fabs(x);
    auto code = static_cast<std::uint32_t>(std::lower_bound(values_.begin(), values_.end(), size) -
                                           values_.begin());
    if (code > 0) {
      const double up = values_[code] - size, down = size - values_[code - 1];
      if (down < up || (down == up && code % 2 == 1)) --code;
    }
    const bool negative = std::signbit(x) && (code > 0 || signed_zero_);
    return static_cast<std::uint8_t>(negative ? code | sign_ : code);
  }

 private:
  const FormatView& view_;
  std::uint32_t sign_;
  bool signed_zero_;
  std::vector<double> values_;
};

// x [rows, columns] in blocks of code_rows x 32, the rest of the extents being whole blocks.
void Define(const Tensor<float, 2>& x, std::int64_t code_rows, const QuantizeOptions& options,
            const Call& call) {
  const Nearest nearest(options.format);
  const Operand& elements = call.At("elements");
  const int bits = ElementBits(options.format);
  const std::int64_t columns = x.dimension(1);
  for (std::int64_t at = 0; at < call.At("codes").elements; ++at) {
    const std::int64_t row0 = at / (columns / 32) * code_rows, column0 = at % (columns / 32) * 32;
    float amax = 0;
    for (std::int64_t i = 0; i < 32 * code_rows; ++i) {
      const float size = std::fabs(x(row0 + i / 32, column0 + i % 32));
      if (!(size <= amax) && !std::isnan(amax)) amax = size;
    }
    const std::uint8_t code = CodeOf(amax, options);
    call.Data<std::uint8_t>("codes")[at] = code;
    for (std::int64_t i = 0; i < 32 * code_rows; ++i) {
      const std::int64_t row = row0 + i / 32, column = column0 + i % 32;
      std::uint8_t element = reference::NanBits(options.format);
      if (code != 255) {
        const double scaled = std::ldexp(static_cast<double>(x(row, column)), 127 - code);
        const double max = options.maximum;
        element = nearest(std::clamp(scaled, -max, max));
      }
      auto* const bytes = static_cast<std::uint8_t*>(elements.data);
      const std::int64_t index = row * columns + column;
      if (bits == 8) {
        bytes[index] = element;
      } else {
        bytes[index / 2] =
            static_cast<std::uint8_t>(index % 2 == 0 ? element : bytes[index / 2] | element << 4);
      }
    }
  }
}

absl::Status Multiples(std::int64_t rows, std::int64_t columns, std::int64_t code_rows) {
  if (columns % 32 == 0 && rows % code_rows == 0) return absl::OkStatus();
  return InvalidArgument("blocks are whole");
}

// ---- operations ----

void StoreQuantized(const Call& call, const reference::Quantized& quantized) {
  Store(call, "elements", quantized.elements);
  Store(call, "codes", quantized.codes);
}

const std::vector<Dimension> kOptions = {
    {"rule", {"exact", "rounded_log2", "floor", "even", "round_up"}},
    {"floor", {"none", "normal", "moe"}},
    {"least"},
    {"inf", {"nan_block", "saturate"}}};
const std::vector<Data> kData = {Data::kRandomBits,    Data::kAllCodes, Data::kNormal,
                                 Data::kSubnormals,    Data::kNan,      Data::kNegativeZeros,
                                 Data::kExtremeScales, Data::kOneHot};

Operation Base(const std::string& name, std::vector<Dimension> dimensions, ElementFormat format,
               const std::string& input) {
  Operation operation;
  operation.name =
      absl::StrCat("definition/", name, "/", input, "_to_", AbslView(ElementFormatName(format)));
  operation.dimensions = std::move(dimensions);
  operation.dimensions.insert(operation.dimensions.end(), kOptions.begin(), kOptions.end());
  operation.arguments = {
      {.name = "x", .format = input, .extents = {"M", "K"}},
      {.name = "elements",
       .format = std::string(ElementFormatName(format)),
       .role = Role::kOutput,
       .extents = {"M", "K"}},
      {.name = "codes", .format = "e8m0", .role = Role::kOutput, .extents = {"M", "K / 32"}}};
  operation.data = kData;
  return operation;
}

// float32 whose quotient by the maximum lies at a power of two or a few last places beside it,
// where the rules part; and what the engine draws.
void AroundPowers(Data data, const Call& call, std::mt19937_64& random) {
  const Operand& x = call.At("x");
  if (data != Data::kAllCodes) {
    Argument plain = *x.argument;
    plain.generate = {};
    Operand operand = x;
    operand.argument = &plain;
    Fill(data, operand, call, random);
    return;
  }
  auto* const values = call.Data<float>("x");
  for (std::int64_t i = 0; i < x.elements; ++i) {
    const std::uint64_t draw = random();
    const float largest = i % 3 == 0 ? 448.0f : i % 3 == 1 ? 224.0f : 6.0f;
    const float around = std::ldexp(largest, static_cast<int>(draw % 260) - 140);
    float value = std::isfinite(around) ? around : 1.0f;
    // One block in eight is all such numbers; in others they are few, and small beside one.
    const int steps = static_cast<int>(draw >> 32 & 63) - 16;
    for (int step = 0; step < std::abs(steps); ++step) {
      value = std::nextafter(value, steps < 0 ? 0.0f : HUGE_VALF);
    }
    values[i] = i % 32 == 0 ? value : std::ldexp(value, -300);
  }
}

float ToFloat(float value) { return value; }
float ToFloat(Bf16 value) { return value.ToFloat(); }

template <class T>
Operation QuantizeRows(ElementFormat format, const std::string& input) {
  Operation operation = Base("quantize", {{"M"}, {"K"}}, format, input);
  operation.shapes =
      "M=5 K=96 rule=* floor=* least=0,1 inf=*\n"
      "M=1,17 K=32*{1,57} rule=exact floor=normal least=0 inf=nan_block\n"
      "random 3: M=1..20 K=32*{1..20} rule=* floor=* least=0,1 inf=*\n"
      "M=0 K=64 rule=exact floor=none least=0 inf=nan_block\n"
      "M=2 K=48 rule=exact floor=none least=0 inf=nan_block  # refused";
  if (sizeof(T) == 4) operation.arguments[0].generate = AroundPowers;
  operation.reference = [format](const Call& call) {
    LANEWISE_RETURN_IF_ERROR(Multiples(call["M"], call["K"], 1));
    const auto x = TensorOf<T, 2>(call, "x");
    Tensor<float, 2> floats(x.dimensions());
    for (std::int64_t i = 0; i < x.size(); ++i) floats.data()[i] = ToFloat(x.data()[i]);
    Define(floats, 1, OptionsOf(call, format), call);
    return absl::OkStatus();
  };
  operation.host = [format](const Call& call) {
    const auto quantized = reference::Quantize(TensorOf<T, 2>(call, "x"), OptionsOf(call, format));
    if (quantized.ok()) StoreQuantized(call, *quantized);
    return quantized.status();
  };
  return operation;
}

Operation QuantizeSquares(ElementFormat format) {
  Operation operation = Base("quantize_squares", {{"M"}, {"K"}}, format, "f32");
  operation.arguments[2].extents = {"M / 32", "K / 32"};
  operation.shapes =
      "M=32 K=64 rule=* floor=normal least=0 inf=*\n"
      "random 3: M=32*{1..4} K=32*{1..6} rule=* floor=* least=0,1 inf=*\n"
      "M=40 K=64 rule=exact floor=none least=0 inf=nan_block  # refused";
  operation.reference = [format](const Call& call) {
    const absl::Status whole = Multiples(call["M"], call["K"], 32);
    if (whole.ok()) Define(TensorOf<float, 2>(call, "x"), 32, OptionsOf(call, format), call);
    return whole;
  };
  operation.host = [format](const Call& call) {
    const auto quantized =
        reference::QuantizeSquareBlocks(TensorOf<float, 2>(call, "x"), OptionsOf(call, format));
    if (quantized.ok()) StoreQuantized(call, *quantized);
    return quantized.status();
  };
  return operation;
}

// A tile that reaches past x, where there are zeros.
Operation QuantizeTiles(ElementFormat format) {
  Operation operation = Base(
      "quantize_tile", {{"M"}, {"K"}, {"row"}, {"column"}, {"rows"}, {"columns"}}, format, "f32");
  operation.arguments[1].extents = {"rows", "columns"};
  operation.arguments[2].extents = {"rows", "columns / 32"};
  operation.shapes =
      "M=5 K=80 row=0,3,6 column=0,64 rows=4 columns=64 rule=exact floor=normal least=0 "
      "inf=nan_block\n"
      "random 4: M=1..9 K=1..130 row=0..9 column=32*{0..4} rows=0..6 columns=32*{1..4} rule=* "
      "floor=* least=0,1 inf=*\n"
      "M=5 K=80 row=0 column=16 rows=4 columns=64 rule=exact floor=none least=0 inf=nan_block\n"
      "M=5 K=80 row=0 column=0 rows=4 columns=40 rule=exact floor=none least=0 inf=nan_block";
  operation.reference = [format](const Call& call) {
    absl::Status whole = Multiples(call["rows"], call["columns"], 1);
    whole.Update(Multiples(0, call["column"], 1));
    if (!whole.ok()) return whole;
    const auto x = TensorOf<float, 2>(call, "x");
    Tensor<float, 2> tile(call["rows"], call["columns"]);
    tile.setZero();
    for (std::int64_t row = 0; row < call["rows"]; ++row) {
      for (std::int64_t column = 0; column < call["columns"]; ++column) {
        const std::int64_t m = call["row"] + row, k = call["column"] + column;
        if (m < call["M"] && k < call["K"]) tile(row, column) = x(m, k);
      }
    }
    Define(tile, 1, OptionsOf(call, format), call);
    return absl::OkStatus();
  };
  operation.host = [format](const Call& call) {
    const auto quantized = reference::QuantizeTile(
        TensorOf<float, 2>(call, "x"), {call["row"], call["column"], call["rows"], call["columns"]},
        OptionsOf(call, format));
    if (quantized.ok()) StoreQuantized(call, *quantized);
    return quantized.status();
  };
  return operation;
}

// element * 2^(code - 127), rounded once where it must be.
Operation Dequantize(ElementFormat format) {
  const std::string name(ElementFormatName(format));
  Operation operation;
  operation.name = "definition/dequantize/" + name;
  operation.dimensions = {{"M"}, {"K"}, {"R"}};
  operation.shapes =
      "M=1,32 K=32,96 R=1; M=32,64 K=96 R=32\n"
      "random 4: M=32*{1..3} K=32*{1..8} R=1,32\n"
      "M=2 K=48 R=1  # refused";
  operation.arguments = {{.name = "elements", .format = name, .extents = {"M", "K"}},
                         {.name = "codes", .format = "e8m0", .extents = {"M / R", "K / 32"}},
                         {.name = "f32",
                          .format = "f32",
                          .role = Role::kOutput,
                          .extents = {"M", "K"},
                          .contract = Contract::kNumbers},
                         {.name = "bf16",
                          .format = "bf16",
                          .role = Role::kOutput,
                          .extents = {"M", "K"},
                          .contract = Contract::kNumbers}};
  operation.data = {Data::kRandomBits,    Data::kAllCodes, Data::kSubnormals,
                    Data::kNegativeZeros, Data::kNan,      Data::kExtremeScales};
  operation.reference = [](const Call& call) {
    const Mx mx = MxOf(call, "elements", "codes");
    LANEWISE_RETURN_IF_ERROR(Multiples(call["M"], call["K"], call["R"]));
    for (std::int64_t i = 0; i < call["M"] * call["K"]; ++i) {
      const std::int64_t row = i / call["K"], k = i % call["K"];
      const double element = mx.Element(row, k);
      ExactAccumulator value;
      if (mx.IsNan(row, k / 32)) value.AddNan();
      value.AddDouble(element, mx.view().code(row, k / 32) - 127);
      // The accumulator's zero has no sign.
      const bool negative_zero = element == 0 && std::signbit(element) && !mx.IsNan(row, k / 32);
      call.Data<float>("f32")[i] = negative_zero ? -0.0f : value.ToFloat();
      call.Data<std::uint16_t>("bf16")[i] = negative_zero ? 0x8000 : value.ToBf16Bits();
    }
    return absl::OkStatus();
  };
  operation.host = [format](const Call& call) {
    const Mx mx = MxOf(call, "elements", "codes");
    const reference::Quantized quantized = {mx.elements, mx.codes};
    LANEWISE_ASSIGN_OR_RETURN(const auto f32, reference::DequantizeToFloat(quantized, format));
    LANEWISE_ASSIGN_OR_RETURN(const auto bf16, reference::DequantizeToBf16(quantized, format));
    Store(call, "f32", f32);
    Store(call, "bf16", bf16);
    return absl::OkStatus();
  };
  return operation;
}

const std::vector<Registration> kRegistrations = [] {
  std::vector<Registration> registrations;
  for (const ElementFormat format : kElementFormats) {
    registrations.emplace_back(QuantizeRows<Bf16>(format, "bf16"));
    registrations.emplace_back(QuantizeRows<float>(format, "f32"));
    registrations.emplace_back(QuantizeSquares(format));
    registrations.emplace_back(QuantizeTiles(format));
    registrations.emplace_back(Dequantize(format));
  }
  return registrations;
}();

}  // namespace
}  // namespace lanewise::differential
