#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/quantize.h"
#include "checkpoint/tensor_set.h"
#include "formats/formats.h"
#include "reference/quantize/element_format.h"
#include "reference/quantize/mx.h"
#include "reference/tensor.h"

namespace lanewise {
namespace {

using reference::ElementFormat;
using reference::kBlockSize;
using reference::Quantized;

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
  ElementFormat format;
  std::string stem;
  // Of the weight as numbers.
  std::vector<std::int64_t> shape;
  // Rows that share a code.
  std::int64_t code_rows;

  std::int64_t rows() const {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
    return rows;
  }
  std::int64_t k() const { return shape.back(); }
};

// The pair's shapes: codes one a row and 32 columns, or one for 32 x 32.
absl::Status SetShape(Pair* pair) {
  const TensorInfo& weight = *pair->weight->info;
  const TensorInfo& codes = *pair->codes->info;
  if (codes.dtype != DType::kF8E8m0 && codes.dtype != DType::kU8) {
    return absl::InvalidArgumentError(absl::StrCat(codes.name, " is ",
                                                   AbslView(DTypeName(codes.dtype)),
                                                   ", expected E8M0 codes (F8_E8M0 or U8)"));
  }
  pair->shape = weight.shape;
  if (pair->shape.size() >= 2) {
    if (pair->format == ElementFormat::kE2m1 && weight.dtype != DType::kF4) pair->shape.back() *= 2;
    std::vector<std::int64_t> expected = pair->shape;
    expected.back() /= kBlockSize;
    pair->code_rows = 1;
    if (pair->k() % kBlockSize == 0 && codes.shape == expected) return absl::OkStatus();
    std::int64_t& rows = expected[expected.size() - 2];
    pair->code_rows = kBlockSize;
    if (pair->k() % kBlockSize == 0 && rows % kBlockSize == 0) {
      rows /= kBlockSize;
      if (codes.shape == expected) return absl::OkStatus();
    }
  }
  const auto text = [](const std::vector<std::int64_t>& shape) {
    std::string list;
    for (const std::int64_t size : shape) absl::StrAppend(&list, list.empty() ? "" : ", ", size);
    return absl::StrCat("[", list, "]");
  };
  return absl::InvalidArgumentError(
      absl::StrCat(codes.name, " is ", text(codes.shape), " for ", weight.name, " ",
                   text(weight.shape), " of ", AbslView(ElementFormatName(pair->format)),
                   ": expected a code for each row or 32 rows, and 32 columns"));
}

// The codes beside a weight, if there are any.
std::optional<Pair> PairOf(const TensorSet& set, const TensorSet::Tensor& weight) {
  const std::optional<ElementFormat> format = FormatOf(weight.info->dtype);
  if (!format) return std::nullopt;
  for (const std::string_view suffix : kWeightSuffixes) {
    if (!weight.name().ends_with(suffix)) continue;
    const std::string stem = weight.name().substr(0, weight.name().size() - suffix.size());
    for (const std::string_view scale : kScaleSuffixes) {
      const TensorSet::Tensor* codes = set.Find(absl::StrCat(stem, AbslView(scale)));
      if (codes != nullptr) return Pair{&weight, codes, *format, stem, {}, 1};
    }
  }
  return std::nullopt;
}

// Rows of a pair as numbers.
RewrittenTensor Dequantized(const Pair& pair, bool float32) {
  RewrittenTensor tensor;
  const std::int64_t k = pair.k();
  const std::int64_t row_bytes = k * reference::ElementBits(pair.format) / 8;
  const std::int64_t row_codes = k / kBlockSize;
  tensor.rows = pair.rows();
  tensor.together = pair.code_rows;
  tensor.inputs = {{pair.weight, {row_bytes, 1}}, {pair.codes, {row_codes, pair.code_rows}}};
  tensor.outputs = {{{absl::StrCat(pair.stem, AbslView(kWeightSuffixes[0])),
                      float32 ? DType::kF32 : DType::kBf16, pair.shape},
                     {k * (float32 ? 4 : 2), 1}}};
  tensor.make = [=, format = pair.format, code_rows = pair.code_rows](
                    std::int64_t, std::int64_t count,
                    std::span<const std::span<const std::uint8_t>> inputs,
                    std::span<const std::span<std::uint8_t>> outputs) -> absl::StatusOr<RowsDone> {
    // A block of rows at a time: several copies of it are made.
    for (std::int64_t row = 0; row < count; row += kBlockSize) {
      const std::int64_t rows = std::min(kBlockSize, count - row);
      Quantized q = {Tensor<std::uint8_t, 2>(rows, row_bytes),
                     Tensor<std::uint8_t, 2>((rows + code_rows - 1) / code_rows, row_codes)};
      std::copy_n(inputs[0].data() + row * row_bytes, q.elements.size(), q.elements.data());
      std::copy_n(inputs[1].data() + row / code_rows * row_codes, q.codes.size(), q.codes.data());
      const auto store = [&](const auto& values) {
        if (!values.ok()) return values.status();
        const std::size_t size = sizeof(*values->data());
        std::memcpy(outputs[0].data() + row * k * static_cast<std::int64_t>(size), values->data(),
                    static_cast<std::size_t>(values->size()) * size);
        return absl::OkStatus();
      };
      absl::Status status =
          float32 ? store(DequantizeToFloat(q, format)) : store(DequantizeToBf16(q, format));
      if (!status.ok()) return status;
    }
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
  const absl::StatusOr<TensorSet> set = TensorSet::Open(request.in);
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
  RewriteRequest rewrite;
  rewrite.in = request.in;
  rewrite.out = request.out;
  rewrite.rules = request.rules;
  rewrite.threads = request.threads;
  rewrite.memory = request.memory;
  rewrite.cancel = request.cancel;
  absl::StatusOr<RewriteReport> rewritten = RewriteCheckpoint(*set, rewrite, tensors, progress);
  if (!rewritten.ok()) return rewritten.status();
  report.bytes = rewritten->bytes;
  report.files = std::move(rewritten->files);
  return report;
}

}  // namespace lanewise
