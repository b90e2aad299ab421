// The models of the matrix instructions against their twins in exact numbers, one output at a time
// (reference/matrix_core/rational_twin.h); and on a device the instructions themselves.
//
// operands=plain has the engine's kinds of data; operands=hostile the ways of
// reference/matrix_core/draws.h, another draw for each kind.

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "hip/runtime/module.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/cdna4.h"
#include "reference/matrix_core/draws.h"
#include "reference/matrix_core/rational_twin.h"
#include "tests/differential/data.h"
#include "tests/differential/loaded.h"
#include "tests/differential/matrix_core_kernels.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {
namespace {

std::string_view FormatName(OperandFormat format) {
  switch (format) {
    case OperandFormat::kE4m3Fn:
      return "e4m3fn";
    case OperandFormat::kE5m2:
      return "e5m2";
    case OperandFormat::kE2m3:
      return "e2m3";
    case OperandFormat::kE3m2:
      return "e3m2";
    case OperandFormat::kE2m1:
      return "e2m1";
    case OperandFormat::kE4m3Fnuz:
      return "e4m3fnuz";
    case OperandFormat::kE5m2Fnuz:
      return "e5m2fnuz";
    case OperandFormat::kBf16:
      return "bf16";
    case OperandFormat::kF16:
      return "f16";
    case OperandFormat::kF32:
      return "f32";
    case OperandFormat::kF8f6f4:
      return "u8";  // one element to a byte, of the format that the shape says
  }
  return "";
}

enum class Chip { kCdna3, kCdna4 };

struct Instruction {
  Chip chip;
  MatrixInstruction is;

  bool IsF8f6f4() const { return is.a == OperandFormat::kF8f6f4; }
  bool IsScaled() const { return is.name.find("scale") != std::string_view::npos; }
  OperandFormat A(const Call& call) const { return Of(call, is.a, "a_format"); }
  OperandFormat B(const Call& call) const { return Of(call, is.b, "b_format"); }

 private:
  OperandFormat Of(const Call& call, OperandFormat fixed, const char* dimension) const {
    return IsF8f6f4() ? static_cast<OperandFormat>(call[dimension]) : fixed;
  }
};

// ---- data ----

std::int64_t BitsOf(const Operand& operand) { return FormatBits(operand.argument->format); }

// As the engine fills an argument of the format, an element to a byte where that has fewer bits.
void FillPlainly(Data data, const Call& call, const char* name, OperandFormat format,
                 std::mt19937_64& random) {
  const Operand& to = call.At(name);
  Argument argument = *to.argument;
  argument.generate = {};
  argument.format = std::string(FormatName(format));
  Operand drawn = to;
  drawn.argument = &argument;
  const int bits = FormatBits(argument.format);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(to.elements * bits / 8 + 1));
  drawn.data = bytes.data();
  Fill(data, drawn, call, random);
  const std::uint32_t mask =
      format == OperandFormat::kE2m3 || format == OperandFormat::kE3m2 ? 0x3F : 0xFFFFFFFF;
  for (std::int64_t i = 0; i < to.elements; ++i) {
    SetBits(static_cast<int>(BitsOf(to)), to.data, i, GetBits(bits, drawn.data, i) & mask);
  }
}

std::vector<std::uint32_t> CodesOf(const Call& call, const char* name) {
  const Operand& operand = call.At(name);
  std::vector<std::uint32_t> codes;
  for (std::int64_t i = 0; i < operand.elements; ++i) {
    codes.push_back(GetBits(static_cast<int>(BitsOf(operand)), operand.data, i));
  }
  return codes;
}

void SetCodes(const Call& call, const char* name, const std::vector<std::uint32_t>& codes) {
  const Operand& operand = call.At(name);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    SetBits(static_cast<int>(BitsOf(operand)), operand.data, static_cast<std::int64_t>(i),
            codes[i]);
  }
}

absl::Status Execute(const Instruction& instruction, const Call& call) {
  const MatrixInstruction& is = instruction.is;
  const void* const a = call.Data("a");
  const void* const b = call.Data("b");
  const auto* const c = call.Data<std::uint32_t>("c");
  auto* const d = call.Data<std::uint32_t>("d");
  if (instruction.IsF8f6f4()) {
    cdna4::BlockScales scales;
    if (instruction.IsScaled()) {
      scales = {call.Data<std::uint8_t>("a_scales"), call.Data<std::uint8_t>("b_scales")};
    }
    cdna4::ExecuteF8f6f4(is, instruction.A(call), instruction.B(call),
                         static_cast<const std::uint8_t*>(a), static_cast<const std::uint8_t*>(b),
                         scales, c, d);
  } else if (instruction.chip == Chip::kCdna3) {
    cdna3::Execute(is, a, b, c, d);
  } else {
    cdna4::Execute(is, a, b, c, d);
  }
  return absl::OkStatus();
}

// Draws a, b and c together, once all that is before c is filled: c's elements are chosen by what
// the others' products are.
void DrawHostile(const Instruction& instruction, const Call& call, std::mt19937_64& random) {
  OperandDraws draws(instruction.is, instruction.A(call), instruction.B(call), random());
  MatrixOperands operands = draws.DrawAAndB();
  SetCodes(call, "a", operands.a);
  SetCodes(call, "b", operands.b);
  int scale_exponent = 0;
  if (instruction.IsScaled()) {
    // Half of the time any codes, else so that the blocks meet each other and c.
    const int centre = 40 + draws.Below(170);
    const bool any = draws.Below(2) == 0;
    for (const char* const name : {"a_scales", "b_scales"}) {
      for (std::uint8_t& code : call.Bytes(name)) {
        code = static_cast<std::uint8_t>(any ? draws.Below(256) : centre + draws.Below(24) - 12);
      }
    }
    scale_exponent = 2 * centre - 254;
  }
  SetCodes(call, "c", operands.c);
  std::vector<std::uint32_t> of_zero(operands.c.size());
  Call with_d = call;
  Argument d = *call.At("d").argument;
  for (Operand& operand : with_d.operands) {
    if (operand.argument->name != "d") continue;
    operand.argument = &d;
    operand.data = of_zero.data();
  }
  Execute(instruction, with_d).IgnoreError();
  draws.DrawC(operands, of_zero, scale_exponent);
  SetCodes(call, "c", operands.c);
}

// ---- the twin ----

absl::Status Twin(const Instruction& instruction, const Call& call) {
  const MatrixInstruction& is = instruction.is;
  const std::vector<std::uint32_t> a_codes = CodesOf(call, "a"), b_codes = CodesOf(call, "b");
  const OperandFormat a_format = instruction.A(call), b_format = instruction.B(call);
  // A rounding of the CDNA4 contract every so many k; CDNA3's steps are the twin's own.
  const int step = instruction.IsF8f6f4() ? cdna4::kScaleBlock : is.k;
  for (int i = 0; i < is.blocks * is.m * is.n; ++i) {
    const int column = i % is.n, row = i / is.n % is.m, block = i / (is.n * is.m);
    std::uint32_t sum = call.Data<std::uint32_t>("c")[i];
    for (int begin = 0; begin < is.k; begin += step) {
      std::vector<TwinElement> a, b;
      std::vector<float> a_floats, b_floats;
      for (int k = begin; k < begin + step; ++k) {
        const std::uint32_t a_code =
            a_codes[static_cast<std::size_t>((block * is.m + row) * is.k + k)];
        const std::uint32_t b_code =
            b_codes[static_cast<std::size_t>((block * is.k + k) * is.n + column)];
        if (a_format == OperandFormat::kF32) {
          a_floats.push_back(std::bit_cast<float>(a_code));
          b_floats.push_back(std::bit_cast<float>(b_code));
        } else {
          a.push_back(TwinDecode(a_format, a_code));
          b.push_back(TwinDecode(b_format, b_code));
        }
      }
      if (a_format == OperandFormat::kF32) {
        sum = FloatTwin(a_floats, b_floats, sum);
      } else if (instruction.chip == Chip::kCdna3) {
        sum = Cdna3Twin(a_format, a, b, sum);
      } else {
        int exponent = 0;
        if (instruction.IsScaled()) {
          const int scales = is.k / cdna4::kScaleBlock, at = begin / cdna4::kScaleBlock;
          const int a_scale = call.Data<std::uint8_t>("a_scales")[row * scales + at];
          const int b_scale = call.Data<std::uint8_t>("b_scales")[at * is.n + column];
          if (a_scale == 255 || b_scale == 255) {
            sum = kCanonicalNan;
            break;
          }
          exponent = a_scale + b_scale - 254;
        }
        sum = Cdna4Twin(a, b, exponent, sum);
      }
    }
    call.Data<std::uint32_t>("d")[i] = sum;
  }
  return absl::OkStatus();
}

// ---- a device's instruction ----

// The kernels of ops/matrix_core.hip, each named as its instruction.
class Kernels {
 public:
  static absl::StatusOr<Kernels> Load(const hip::Device& device) {
    LANEWISE_ASSIGN_OR_RETURN(hip::Module module,
                              hip::Module::Load(hip::MatrixCoreKernelsCodeObjects(), device));
    return Kernels(std::move(module));
  }
  absl::StatusOr<hip::Kernel> Find(std::string_view instruction) const {
    return module_.Find(instruction);
  }

 private:
  explicit Kernels(hip::Module module) : module_(std::move(module)) {}
  hip::Module module_;
};

absl::Status Launch(const Instruction& instruction, const Call& call) {
  LANEWISE_ASSIGN_OR_RETURN(const Kernels* const kernels, Loaded<Kernels>(*call.device));
  LANEWISE_ASSIGN_OR_RETURN(const hip::Kernel kernel, kernels->Find(instruction.is.name));
  const hip::LaunchShape one_wave = {.grid = {1}, .block = {64}};
  if (!instruction.IsF8f6f4()) {
    return kernel.Launch(one_wave, *call.stream, call.Data("a"), call.Data("b"), call.Data("c"),
                         call.Data("d"));
  }
  void* const a_scales = instruction.IsScaled() ? call.Data("a_scales") : nullptr;
  void* const b_scales = instruction.IsScaled() ? call.Data("b_scales") : nullptr;
  return kernel.Launch(one_wave, *call.stream, call.Data("a"), call.Data("b"), a_scales, b_scales,
                       call.Data("c"), call.Data("d"), static_cast<std::int32_t>(call["a_format"]),
                       static_cast<std::int32_t>(call["b_format"]));
}

// ---- operations ----

Argument OperandOf(const Instruction& instruction, const char* name, OperandFormat format,
                   std::vector<std::string> extents) {
  Argument argument = {
      .name = name, .format = std::string(FormatName(format)), .extents = std::move(extents)};
  argument.generate = [=](Data data, const Call& call, std::mt19937_64& random) {
    if (call["operands"] == 1) return;  // c's turn
    FillPlainly(data, call, name, name[0] == 'a' ? instruction.A(call) : instruction.B(call),
                random);
  };
  return argument;
}

Argument ScalesOf(const char* name, std::vector<std::string> extents) {
  return {.name = name, .format = "e8m0", .extents = std::move(extents)};
}

Operation OperationOf(const Instruction& instruction) {
  const MatrixInstruction& is = instruction.is;
  Operation operation;
  operation.name =
      absl::StrCat(instruction.chip == Chip::kCdna3 ? "matrix_core/cdna3/" : "matrix_core/cdna4/",
                   AbslView(is.name));
  operation.dimensions = {{"B"}, {"M"}, {"N"}, {"K"}, {"operands", {"plain", "hostile"}}, {"draw"}};
  const std::string sizes =
      absl::StrCat("B=", is.blocks, " M=", is.m, " N=", is.n, " K=", is.k, " ");
  std::string formats;
  if (instruction.IsF8f6f4()) {
    std::vector<std::string> words;
    for (int i = 0; i < 5; ++i) {
      words.emplace_back(FormatName(static_cast<OperandFormat>(i)));
    }
    operation.dimensions.push_back({"a_format", words});
    operation.dimensions.push_back({"b_format", words});
    // All pairs where a draw costs little.
    formats = is.m == 16 && instruction.IsScaled() ? " a_format=* b_format=*"
                                                   : " a_format=e4m3fn b_format=e4m3fn,e2m1";
  }
  operation.shapes = absl::StrCat(sizes, "operands=* draw=1", formats, "\nrandom 1: ", sizes,
                                  "operands=hostile draw=2..999",
                                  instruction.IsF8f6f4() ? " a_format=* b_format=*" : "");
  operation.arguments.push_back(OperandOf(instruction, "a", is.a, {"B", "M", "K"}));
  operation.arguments.push_back(OperandOf(instruction, "b", is.b, {"B", "K", "N"}));
  if (instruction.IsScaled()) {
    operation.arguments.push_back(ScalesOf("a_scales", {"M", "K / 32"}));
    operation.arguments.push_back(ScalesOf("b_scales", {"K / 32", "N"}));
  }
  Argument c = {.name = "c", .format = "f32", .extents = {"B", "M", "N"}};
  c.generate = [instruction](Data data, const Call& call, std::mt19937_64& random) {
    if (call["operands"] == 1) {
      DrawHostile(instruction, call, random);
    } else {
      FillPlainly(data, call, "c", OperandFormat::kF32, random);
    }
  };
  operation.arguments.push_back(c);
  operation.arguments.push_back({.name = "d",
                                 .format = "f32",
                                 .role = Role::kOutput,
                                 .extents = {"B", "M", "N"},
                                 .contract = Contract::kNumbers});
  operation.data = {Data::kRandomBits,    Data::kNormal, Data::kSubnormals,
                    Data::kNegativeZeros, Data::kNan,    Data::kExtremeScales};
  operation.reference = [=](const Call& call) { return Twin(instruction, call); };
  operation.host = [=](const Call& call) { return Execute(instruction, call); };
  operation.device = [=](const Call& call) { return Launch(instruction, call); };
  operation.chips = {instruction.chip == Chip::kCdna3 ? "gfx942" : "gfx950"};
  return operation;
}

const std::vector<Registration> kRegistrations = [] {
  std::vector<Registration> registrations;
  for (const MatrixInstruction& is : cdna3::kInstructions) {
    registrations.emplace_back(OperationOf({Chip::kCdna3, is}));
  }
  for (const MatrixInstruction& is : cdna4::kInstructions) {
    registrations.emplace_back(OperationOf({Chip::kCdna4, is}));
  }
  return registrations;
}();

}  // namespace
}  // namespace lanewise::differential
