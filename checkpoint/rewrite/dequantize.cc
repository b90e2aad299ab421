#include "weights/dequantize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/rewrite/quantize.h"
#include "checkpoint/safetensors/tensor_set.h"

namespace lanewise {
namespace {

constexpr std::string_view kWeightSuffixes[] = {".weight", ".weight_packed"};
constexpr std::string_view kScaleSuffixes[] = {".weight_scale", ".weight_scale_inv", ".scale"};

std::optional<ElementFormat> FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF8E4m3:
      return ElementFormat::kE4m3Fn;
    case DType::kF8E4m3Fnuz:
      return ElementFormat::kE4m3Fnuz;
    case DType::kF8E5m2:
      return ElementFormat::kE5m2;
    case DType::kF8E5m2Fnuz:
      return ElementFormat::kE5m2Fnuz;
    case DType::kU8:
    case DType::kI8:
    case DType::kF4:
      return ElementFormat::kE2m1;
    default:
      return std::nullopt;
  }
}

// A weight and its codes.
struct Pair {
  const TensorSet::Tensor* weight;
  const TensorSet::Tensor* codes;
  ElementFormat element;
  std::string name;  // of the weight as numbers
  std::vector<std::int64_t> shape = {};
  MxCodeBlock block = {};

  std::int64_t rows() const {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
    return rows;
  }
  std::int64_t k() const { return shape.back(); }
};

// Two of them can give codes of the same shape only where that is a single row or column, and then
// they mean the same.
constexpr MxCodeBlock kBlocks[] = {{1, 32}, {32, 32}, {128, 128}};

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string list;
  for (const std::int64_t size : shape) absl::StrAppend(&list, list.empty() ? "" : ", ", size);
  return absl::StrCat("[", list, "]");
}

// The pair's shapes: how many elements a code stands for follows from them.
absl::Status SetShape(Pair* pair) {
  const TensorInfo& weight = *pair->weight->info;
  const TensorInfo& codes = *pair->codes->info;
  if (codes.dtype != DType::kF8E8m0 && codes.dtype != DType::kU8) {
    return absl::InvalidArgumentError(
        absl::StrCat(codes.name, " is ", AbslView(DTypeName(codes.dtype)),
                     ", expected E8M0 codes (F8_E8M0 or U8)",
                     codes.dtype == DType::kF32 ? ": F32 multipliers are not taken back" : ""));
  }
  pair->shape = weight.shape;
  if (pair->shape.size() >= 2) {
    if (pair->element == ElementFormat::kE2m1 && weight.dtype != DType::kF4)
      pair->shape.back() *= 2;
    for (const MxCodeBlock& block : kBlocks) {
      std::vector<std::int64_t> expected = pair->shape;
      std::int64_t& rows = expected[expected.size() - 2];
      // Rows of one matrix share no code with those of the next.
      const bool cut_off = rows % block.rows != 0 && pair->rows() != rows;
      rows = block.Rows(rows);
      expected.back() = block.Columns(pair->k());
      if (codes.shape != expected || cut_off) continue;
      if (block.columns == 32 && pair->k() % 32 != 0) continue;
      pair->block = block;
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(codes.name, " is ", ShapeText(codes.shape), " for ", weight.name, " ",
                   ShapeText(weight.shape), " of ", AbslView(ElementFormatName(pair->element)),
                   ": expected a code for each 1 x 32, 32 x 32 or 128 x 128 elements"));
}

// The codes beside a weight, if there are any.
std::optional<Pair> PairOf(const TensorSet& set, const TensorSet::Tensor& weight) {
  const std::optional<ElementFormat> element = FormatOf(weight.info->dtype);
  if (!element) return std::nullopt;
  const auto& metadata = set.shards()[weight.shard].file.metadata();
  if (metadata.count(std::string(kQuantizedKey)) > 0) {
    const TensorSet::Tensor* codes = set.Find(QuantizedScaleName(weight.name()));
    if (codes != nullptr && codes->info->dtype == DType::kF8E8m0) {
      return Pair{&weight, codes, *element, weight.name()};
    }
  }
  for (const std::string_view suffix : kWeightSuffixes) {
    if (!weight.name().ends_with(suffix)) continue;
    const std::string stem = weight.name().substr(0, weight.name().size() - suffix.size());
    for (const std::string_view scale : kScaleSuffixes) {
      const TensorSet::Tensor* codes = set.Find(absl::StrCat(stem, AbslView(scale)));
      if (codes == nullptr) continue;
      return Pair{&weight, codes, *element, absl::StrCat(stem, AbslView(kWeightSuffixes[0]))};
    }
  }
  return std::nullopt;
}

// Rows of a pair as numbers.
RewrittenTensor Dequantized(const Pair& pair, bool float32) {
  RewrittenTensor tensor;
  const std::int64_t k = pair.k();
  const FloatType to = float32 ? FloatType::kF32 : FloatType::kBf16;
  tensor.rows = pair.rows();
  tensor.together = pair.block.rows;
  tensor.inputs = {{pair.weight, {ElementBytes(pair.element, k), 1}},
                   {pair.codes, {pair.block.Columns(k), pair.block.rows}}};
  tensor.outputs = {
      {{pair.name, float32 ? DType::kF32 : DType::kBf16, pair.shape}, {k * FloatBytes(to), 1}}};
  tensor.make = [k, to, element = pair.element, block = pair.block](
                    std::int64_t, std::int64_t count,
                    std::span<const std::span<const std::uint8_t>> inputs,
                    std::span<const std::span<std::uint8_t>> outputs) -> absl::StatusOr<RowsDone> {
    absl::Status status =
        DequantizeRows(inputs[0], element, count, k, block, inputs[1], to, outputs[0]);
    if (!status.ok()) return status;
    return RowsDone();
  };
  return tensor;
}

bool IsNarrowFloat(DType dtype) {
  return dtype == DType::kF4 || (FormatOf(dtype) && dtype != DType::kU8 && dtype != DType::kI8);
}

}  // namespace

absl::StatusOr<DequantizeReport> DequantizeCheckpoint(const DequantizeRequest& request,
                                                      const RewriteProgress& progress) {
  const absl::StatusOr<TensorSet> set = OpenUnprepared(request.in);
  if (!set.ok()) return set.status();
  DequantizeReport report;
  report.source_bytes = set->total_bytes();
  std::map<const TensorSet::Tensor*, Pair> pairs;
  std::set<const TensorSet::Tensor*> codes;
  for (const TensorSet::Tensor& tensor : set->tensors()) {
    std::optional<Pair> pair = PairOf(*set, tensor);
    if (!pair) continue;
    if (absl::Status status = SetShape(&*pair); !status.ok()) return status;
    codes.insert(pair->codes);
    pairs.emplace(&tensor, *std::move(pair));
  }
  std::vector<RewrittenTensor> tensors(set->tensors().size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSet::Tensor& source = set->tensors()[i];
    if (const auto found = pairs.find(&source); found != pairs.end()) {
      const Pair& pair = found->second;
      tensors[i] = Dequantized(pair, request.float32);
      ++report.dequantized;
    } else if (codes.count(&source) == 0) {
      if (IsNarrowFloat(source.info->dtype)) report.left.push_back(source.name());
      tensors[i].outputs = {{*source.info, {}}};
      ++report.copied;
    }
  }
  if (report.dequantized == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.in, ": nothing to dequantize: no tensor of F8, F4 or packed U8 has E8M0 codes ",
        "beside it, under a name such as NAME.weight_scale or NAME.scale for NAME.weight",
        report.left.empty() ? "" : absl::StrCat(" (", report.left[0], " has none)")));
  }
  absl::StatusOr<RewriteReport> rewritten =
      RewriteCheckpoint(*set, request, {{}, {std::string(kQuantizedKey)}}, tensors, progress);
  if (!rewritten.ok()) return rewritten.status();
  report.bytes = rewritten->bytes;
  report.files = std::move(rewritten->files);
  return report;
}

}  // namespace lanewise
