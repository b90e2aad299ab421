#include "checkpoint/rewrite/quantize.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"
#include "checkpoint/safetensors/tensor_set.h"

namespace lanewise {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScale = ".weight_scale";

bool Matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

std::optional<FloatType> FloatTypeOf(DType dtype) {
  if (dtype == DType::kF32) return FloatType::kF32;
  if (dtype == DType::kF16) return FloatType::kF16;
  if (dtype == DType::kBf16) return FloatType::kBf16;
  return std::nullopt;
}

// The leading dimensions of a tensor of rank 2 or more as one.
struct RowShape {
  std::int64_t rows = 1;
  std::int64_t columns = 0;
};
RowShape RowsOf(const std::vector<std::int64_t>& shape) {
  RowShape rows;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows.rows *= shape[i];
  rows.columns = shape.back();
  return rows;
}

// Why a tensor of a matching name can't be quantized; empty if it can.
std::string WhyNot(const TensorInfo& info, const MxOptions& options) {
  if (!FloatTypeOf(info.dtype)) {
    return absl::StrCat("it is ", AbslView(DTypeName(info.dtype)), ", not F32, F16 or BF16");
  }
  if (info.shape.size() < 2) return "it is not a matrix";
  if (info.shape.back() % kMxBlock != 0) {
    return absl::StrCat("K = ", info.shape.back(), " is not a multiple of ", kMxBlock);
  }
  const std::int64_t rows = info.shape[info.shape.size() - 2];
  if (rows % options.code_rows != 0) {
    return absl::StrCat(rows, " rows are not a multiple of ", options.code_rows);
  }
  return "";
}

DType DTypeOf(ElementFormat format) {
  if (format == ElementFormat::kE4m3Fn) return DType::kF8E4m3;
  if (format == ElementFormat::kE4m3Fnuz) return DType::kF8E4m3Fnuz;
  return DType::kU8;
}

// Elements and codes of one tensor, quantized.
RewrittenTensor Quantized(const TensorSet::Tensor& source, const MxOptions& options,
                          MxError* error) {
  const TensorInfo& info = *source.info;
  const RowShape shape = RowsOf(info.shape);
  const FloatType type = *FloatTypeOf(info.dtype);
  RewrittenTensor tensor;
  tensor.rows = shape.rows;
  tensor.together = options.code_rows;
  tensor.inputs = {{&source, {shape.columns * FloatBytes(type), 1}}};
  const auto shape_of = [&](std::int64_t rows_together, std::int64_t columns_together) {
    std::vector<std::int64_t> extents(info.shape.begin(), info.shape.end() - 2);
    extents.push_back(*(info.shape.end() - 2) / rows_together);
    extents.push_back(info.shape.back() / columns_together);
    return extents;
  };
  TensorSpec elements = {info.name, DTypeOf(options.format),
                         shape_of(1, options.format == ElementFormat::kE2m1 ? 2 : 1)};
  TensorSpec codes = {QuantizedScaleName(info.name), DType::kF8E8m0,
                      shape_of(options.code_rows, kMxBlock)};
  tensor.outputs = {{std::move(elements), {ElementBytes(options.format, shape.columns), 1}},
                    {std::move(codes), {shape.columns / kMxBlock, options.code_rows}}};
  tensor.make = [=](std::int64_t, std::int64_t count,
                    std::span<const std::span<const std::uint8_t>> inputs,
                    std::span<const std::span<std::uint8_t>> outputs) -> absl::StatusOr<RowsDone> {
    const absl::StatusOr<MxError> of_rows =
        QuantizeRows(inputs[0], type, count, shape.columns, options, outputs[0], outputs[1]);
    if (!of_rows.ok()) return of_rows.status();
    return RowsDone([error, add = *of_rows] { *error += add; });
  };
  return tensor;
}

// What every file says of how it was made: another run with other options is another checkpoint.
std::string RecordOf(const MxOptions& options) {
  return absl::StrFormat(R"({"format": "%s", "rule": "%s", "maximum": %.9g, "amax_floor": %.9g, )"
                         R"("smallest_code": %d, "non_finite": "%s", "code_rows": %d})",
                         AbslView(ElementFormatName(options.format)),
                         AbslView(BlockRuleName(options.rule)), options.maximum, options.amax_floor,
                         options.smallest_code, AbslView(NonFiniteName(options.non_finite)),
                         options.code_rows);
}

std::string ListText(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", pattern);
  }
  return text;
}

}  // namespace

std::string QuantizedScaleName(const std::string& name) {
  if (!name.ends_with(kWeight)) return absl::StrCat(name, "_scale");
  return absl::StrCat(name.substr(0, name.size() - kWeight.size()), AbslView(kScale));
}

absl::StatusOr<QuantizeReport> QuantizeCheckpoint(const QuantizeRequest& request,
                                                  const RewriteProgress& progress) {
  if (absl::Status status = ValidateMxOptions(request.options); !status.ok()) return status;
  const absl::StatusOr<TensorSet> set = OpenUnprepared(request.in);
  if (!set.ok()) return set.status();
  QuantizeReport report;
  report.source_bytes = set->total_bytes();
  std::vector<RewrittenTensor> tensors(set->tensors().size());
  std::vector<MxError> errors(tensors.size());
  std::vector<bool> quantized(tensors.size());
  bool any = false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSet::Tensor& source = set->tensors()[i];
    bool quantize = Matches(request.only, source.name()) && !Matches(request.except, source.name());
    if (quantize) {
      const std::string why_not = WhyNot(*source.info, request.options);
      if (!why_not.empty()) report.left.push_back(absl::StrCat(source.name(), ": ", why_not));
      quantize = why_not.empty();
    }
    quantized[i] = quantize;
    any = any || quantize;
    if (quantize) {
      ++report.quantized;
      report.strange_names += source.name().ends_with(kWeight) ? 0 : 1;
      tensors[i] = Quantized(source, request.options, &errors[i]);
    } else {
      tensors[i].outputs = {{*source.info, {}}};
      ++report.copied;
    }
  }
  if (!any) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.in, ": nothing to quantize: ",
        report.left.empty()
            ? absl::StrCat("no tensor's name matches ", ListText(request.only),
                           " and none of those excepted, ", ListText(request.except))
            : absl::StrCat("tensors that match: ", report.left.size(), "; ", report.left[0])));
  }
  const MetadataChange metadata = {{{std::string(kQuantizedKey), RecordOf(request.options)}}, {}};
  absl::StatusOr<RewriteReport> rewritten =
      RewriteCheckpoint(*set, request, metadata, tensors, progress);
  if (!rewritten.ok()) return rewritten.status();
  report.bytes = rewritten->bytes;
  report.files = std::move(rewritten->files);
  MxError all;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!quantized[i] || !rewritten->written[i]) continue;
    const MxError& error = errors[i];
    const RowShape shape = RowsOf(set->tensors()[i].info->shape);
    report.tensors.push_back({set->tensors()[i].name(), shape.rows * shape.columns, error.largest,
                              error.size > 0 ? std::sqrt(error.error / error.size) : 0,
                              error.zeroed, error.nan_blocks});
    all += error;
  }
  report.relative_rms = all.size > 0 ? std::sqrt(all.error / all.size) : 0;
  return report;
}

}  // namespace lanewise
