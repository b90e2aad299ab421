// gfx942's dense copy of MXFP8 linears, weights/ against reference/: of e4m3 bytes and of bf16 that
// was dequantized from them, codes of rows and of blocks of several sizes, whole and a rank's part,
// and back.

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "formats/formats.h"
#include "reference/block_codes.h"
#include "reference/gfx942/linear.h"
#include "tests/differential/matrices.h"
#include "tests/differential/prepared.h"
#include "weights/gfx942/dense.h"

namespace lanewise::differential {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;
using Pair = std::array<std::int64_t, 2>;

// The part wanted: everything, or behind the first half of the rows and of the columns.
struct Part {
  std::int64_t row0, rows, k0, columns;

  explicit Part(const Call& call)
      : row0(call["n_part"] == 1 ? call["N"] / 2 : 0),
        rows(call["n_part"] == 1 ? call["N"] / 2 : call["N"]),
        k0(call["k_part"] == 1 ? call["K"] / 2 : 0),
        columns(call["k_part"] == 1 ? call["K"] / 2 : call["K"]) {}
};

// Codes that are refused now and then: row codes, 32 alike, of which one is another under NaN.
void FillCodes(Data data, const Call& call, std::mt19937_64& random) {
  const Operand& scale = call.At("scale");
  const std::int64_t columns = scale.extents[1];
  auto* const codes = call.Data<std::uint8_t>("scale");
  for (std::int64_t i = 0; i < scale.elements; ++i) {
    if (call["R"] == 1 && i / columns % 32 != 0) {
      codes[i] = codes[i - columns];
    } else {
      codes[i] = static_cast<std::uint8_t>(data == Data::kExtremeScales ? random() % 2 * 249
                                                                        : 20 + random() % 210);
    }
  }
  if (data == Data::kNan && scale.elements > 0) {
    codes[random() % static_cast<std::uint64_t>(scale.elements)] ^= 1;
  }
}

// bf16 that was dequantized from e4m3 and the codes, zeros of both signs among them; under NaN a
// value that was not.
void FillDequantized(Data data, const Call& call, std::mt19937_64& random) {
  const Operand& weight = call.At("weight");
  const Operand& scale = call.At("scale");
  auto* const values = call.Data<std::uint16_t>("weight");
  const auto* const codes = call.Data<std::uint8_t>("scale");
  const std::int64_t k = weight.extents[1], columns = scale.extents[1];
  for (std::int64_t i = 0; i < weight.elements; ++i) {
    const std::uint64_t draw = random();
    auto byte =
        static_cast<std::uint8_t>(data == Data::kAllCodes ? static_cast<std::uint64_t>(i) : draw);
    if ((byte & 0x7F) == 0x7F) byte ^= 1;
    if (data == Data::kNegativeZeros && draw >> 60 < 4) byte &= 0x80;
    const std::int64_t at = i / k / call["R"] * columns + i % k / call["C"];
    const float code = at < scale.elements ? E8m0::FromBits(codes[at]).ToFloat() : 1.0f;
    values[i] = Bf16::FromFloat(E4m3Fn::FromBits(byte).ToFloat() * code).bits();
  }
  if (data == Data::kNan && weight.elements > 0) {
    values[random() % static_cast<std::uint64_t>(weight.elements)] ^= 1;
  }
}

// The part by slicing the whole.
absl::Status Reference(const Call& call, bool bf16) {
  namespace gfx942 = reference::gfx942;
  FillOutputs(call);
  const Part part(call);
  const std::int64_t n = call["N"], k = call["K"], r = call["R"], c = call["C"];
  if (n % 32 != 0 || k % 32 != 0 || part.row0 % 32 != 0 || part.columns % 32 != 0 ||
      part.k0 % c != 0) {
    return InvalidArgument("the part is whole blocks");
  }
  const Bytes scale = BytesOf<2>(call, "scale");
  Bytes row_codes(part.rows, part.columns / 32);
  for (std::int64_t row = 0; row < part.rows; ++row) {
    for (std::int64_t block = 0; block < part.columns / 32; ++block) {
      row_codes(row, block) = scale((part.row0 + row) / r, (part.k0 + 32 * block) / c);
    }
  }
  LANEWISE_ASSIGN_OR_RETURN(const Bytes codes, reference::FoldRowCodes(row_codes));
  const Pair first = {part.row0, part.k0}, size = {part.rows, part.columns};
  absl::StatusOr<gfx942::DenseCopied> copied;
  if (bf16) {
    const Tensor<Bf16, 2> weight = TensorOf<Bf16, 2>(call, "weight").slice(first, size);
    copied = gfx942::LinearCopy(weight, codes);
    if (copied.ok() && call["q"] == 1) {  // LinearCopy knows the natural order alone
      LANEWISE_ASSIGN_OR_RETURN(const auto bytes, gfx942::OcpFromDequant(weight, codes));
      copied = gfx942::DenseCopy(bytes, codes, gfx942::ChunkOrder::kChunkQ);
    }
  } else {
    const Bytes weight = BytesOf<2>(call, "weight").slice(first, size);
    copied = gfx942::DenseCopy(
        weight, codes, call["q"] == 1 ? gfx942::ChunkOrder::kChunkQ : gfx942::ChunkOrder::kNatural);
  }
  if (!copied.ok()) return copied.status();
  Store(call, "bytes", copied->bytes);
  Store(call, "codes", copied->codes);
  const std::int64_t width = bf16 ? 2 : 1;
  CopyPart(call, "weight", "weight_again", width * k, part.row0, part.rows, width * part.k0,
           width * part.columns);
  // Every code that the part has something of.
  if (part.rows > 0 && part.columns > 0) {
    const std::int64_t from = part.row0 / r, to = (part.row0 + part.rows - 1) / r + 1;
    const std::int64_t left = part.k0 / c, right = (part.k0 + part.columns - 1) / c + 1;
    CopyPart(call, "scale", "scale_again", scale.dimension(1), from, to - from, left, right - left);
  }
  return absl::OkStatus();
}

absl::Status Run(const Call& call, bool bf16) {
  const Part part(call);
  LinearSource source =
      LinearSource::Whole(call["N"], call["K"],
                          bf16 ? LinearSource::WeightForm::kBf16 : LinearSource::WeightForm::kE4m3,
                          call["R"], call["C"]);
  source.row_begin = part.row0;
  source.rows = part.rows;
  source.k_begin = part.k0;
  source.columns = part.columns;
  LANEWISE_ASSIGN_OR_RETURN(const auto plans,
                            gfx942::PlanDense(source, {.chunk_q = call["q"] == 1}));
  FillOutputs(call);
  // Codes first: what does not fold is refused there, and restoring bf16 wants them.
  return RunAndRestore(call, {"weight", "scale"},
                       {{&plans.codes, "codes"}, {&plans.weight, "bytes"}},
                       {"weight_again", "scale_again"});
}

Operation Dense(bool bf16) {
  Operation operation;
  operation.name = bf16 ? "prepare/gfx942/dense_of_bf16" : "prepare/gfx942/dense";
  // A code for R x C elements; the part of N and K; chunk_q.
  operation.dimensions = {{"N"}, {"K"}, {"R"}, {"C"}, {"n_part"}, {"k_part"}, {"q"}, {"threads"}};
  operation.shapes =
      "N=32*{1,3} K=32*{1,4,5,18} R=1,32 C=32 n_part=0 k_part=0 q=0,1 threads=1,3\n"
      "N=64,128 K=256,320 R=1,32,64 C=32 n_part=0,1 k_part=0,1 q=0,1 threads=3\n"
      "N=128,256 K=256,384 R=128 C=128 n_part=0,1 k_part=0,1 q=0 threads=1\n"
      "random 12: N=32*{1..6} K=32*{1..20} R=1,32 C=32 n_part=0,1 k_part=0,1 q=0,1 threads=1,3\n"
      "random 4: N=64*{1..6} K=128*{1..8} R=64,128 C=32,128 n_part=0,1 k_part=0,1 q=0,1 "
      "threads=1,3\n"
      // More than what restoring takes back at a time.
      "N=160 K=4128 R=32 C=32 n_part=0 k_part=0 q=0,1 threads=3\n"
      "N=40 K=64 R=1 C=32 n_part=0 k_part=0 q=0 threads=1  # refused, as the next\n"
      "N=32 K=72 R=1 C=32 n_part=0 k_part=0 q=0 threads=1";
  const std::string rows = "N / (1 + n_part)", columns = "K / (1 + k_part)";
  const std::vector<std::string> whole = {"N", "K"}, codes = {"ceil(N, R)", "ceil(K, C)"};
  const std::string format = bf16 ? "bf16" : "e4m3fn";
  operation.arguments = {
      {.name = "scale", .format = "e8m0", .extents = codes, .generate = FillCodes},
      {.name = "weight", .format = format, .extents = whole, .allow_nan = false},
      {.name = "bytes",
       .format = "e4m3fnuz",
       .role = Role::kOutput,
       .extents = {rows, absl::StrCat("roundup(", columns, ", 128)")}},
      {.name = "codes",
       .format = "e8m0",
       .role = Role::kOutput,
       .extents = {absl::StrCat(rows, " / 32"), absl::StrCat("roundup(", columns, ", 128) / 32")}},
      {.name = "weight_again", .format = format, .role = Role::kOutput, .extents = whole},
      {.name = "scale_again", .format = "e8m0", .role = Role::kOutput, .extents = codes},
  };
  // Which of the two orders, the shape says.
  operation.arguments[2].layout = [=](const Shape& shape) {
    return InLayout(shape["q"] == 1 ? "gfx942/dense_chunk_q" : "gfx942/dense", rows,
                    absl::StrCat("roundup(", columns, ", 128)"))(shape);
  };
  if (bf16) operation.arguments[1].generate = FillDequantized;
  operation.data = {Data::kRandomBits, Data::kAllCodes, Data::kNegativeZeros, Data::kNan,
                    Data::kExtremeScales};
  if (bf16) operation.data.pop_back();  // bf16 has no room for every value there
  operation.reference = [bf16](const Call& call) { return Reference(call, bf16); };
  operation.host = [bf16](const Call& call) { return Run(call, bf16); };
  return operation;
}

const Registration kDense(Dense(false));
const Registration kDenseOfBf16(Dense(true));

}  // namespace
}  // namespace lanewise::differential
