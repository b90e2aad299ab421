#include "checkpoint/quantize.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/tensor_set.h"
#include "formats/formats.h"
#include "reference/gemm/parallel.h"
#include "reference/quantize/mx.h"
#include "reference/tensor.h"

namespace lanewise {
namespace {

using reference::ElementFormat;
using reference::kBlockSize;
using reference::ParallelFor;
using reference::Quantized;
using reference::QuantizeOptions;

// Rows that one task takes at a time: a square block's.
constexpr std::int64_t kTaskRows = kBlockSize;
// Elements between two writes.
constexpr std::int64_t kChunkElements = std::int64_t{8} << 20;

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScale = ".weight_scale";

bool Matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16;
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

// Rows [first, first + count) of a float tensor's bytes.
Tensor<float, 2> LoadRows(std::span<const std::uint8_t> bytes, DType dtype, std::int64_t columns,
                          std::int64_t first, std::int64_t count) {
  Tensor<float, 2> rows(count, columns);
  const std::uint8_t* from = bytes.data();
  const auto load = [&](auto element) {
    using Element = decltype(element);
    from += first * columns * static_cast<std::int64_t>(sizeof(Element));
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      std::memcpy(&element, from + i * static_cast<std::int64_t>(sizeof(Element)), sizeof(Element));
      if constexpr (std::is_same_v<Element, float>) {
        rows.data()[i] = element;
      } else {
        rows.data()[i] = element.ToFloat();
      }
    }
  };
  if (dtype == DType::kF32) {
    load(float());
  } else if (dtype == DType::kBf16) {
    load(Bf16());
  } else {
    load(F16());
  }
  return rows;
}

template <class T>
std::span<const std::uint8_t> BytesOf(const Tensor<T, 2>& tensor) {
  return {reinterpret_cast<const std::uint8_t*>(tensor.data()),
          static_cast<std::size_t>(tensor.size()) * sizeof(T)};
}

// Sums of errors, from many tasks.
class ErrorSums {
 public:
  void Add(const Tensor<float, 2>& x, const Tensor<float, 2>& y, const Quantized& quantized) {
    double largest = 0, error = 0, size = 0;
    std::int64_t zeroed = 0, nan_blocks = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const double from = x.data()[i];
      const double to = y.data()[i];
      if (std::isnan(to)) continue;
      largest = std::max(largest, std::fabs(from - to));
      error += (from - to) * (from - to);
      size += from * from;
      if (from != 0 && to == 0) ++zeroed;
    }
    for (std::int64_t i = 0; i < quantized.codes.size(); ++i) {
      if (quantized.codes.data()[i] == reference::kNanCode) ++nan_blocks;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    total_.largest = std::max(total_.largest, largest);
    total_.zeroed += zeroed;
    total_.nan_blocks += nan_blocks;
    error_ += error;
    size_ += size;
  }

  QuantizeError Result() const {
    QuantizeError result = total_;
    result.relative_rms = size_ > 0 ? std::sqrt(error_ / size_) : 0;
    return result;
  }
  double error() const { return error_; }
  double size() const { return size_; }

 private:
  std::mutex mutex_;
  QuantizeError total_;
  double error_ = 0;
  double size_ = 0;
};

// Calls function(first row, count) for tasks of kTaskRows rows, on all cores; returns the first
// failure.
template <class Function>
absl::Status ForRows(std::int64_t rows, std::int64_t columns, const Function& function) {
  // A chunk at a time, so that writes stay near each other.
  const std::int64_t tasks = (rows + kTaskRows - 1) / kTaskRows;
  const std::int64_t chunk =
      std::max<std::int64_t>(1, kChunkElements / std::max<std::int64_t>(1, kTaskRows * columns));
  std::mutex mutex;
  absl::Status status = absl::OkStatus();
  for (std::int64_t begin = 0; begin < tasks && status.ok(); begin += chunk) {
    ParallelFor(std::min(chunk, tasks - begin), [&](std::int64_t i) {
      const std::int64_t first = (begin + i) * kTaskRows;
      absl::Status one = function(first, std::min(kTaskRows, rows - first));
      const std::lock_guard<std::mutex> lock(mutex);
      status.Update(std::move(one));
    });
  }
  return status;
}

// The whole of quantizing one tensor: element rows to output 0, codes to output 1.
absl::Status QuantizeTensor(const TensorSet& set, const TensorSet::Tensor& source,
                            const QuantizeRequest& request, ErrorSums* sums,
                            const RewriteSink& sink) {
  const RowShape shape = RowsOf(source.info->shape);
  const std::int64_t code_rows = request.square_blocks ? kBlockSize : 1;
  return ForRows(
      shape.rows, shape.columns, [&](std::int64_t first, std::int64_t count) -> absl::Status {
        const Tensor<float, 2> x =
            LoadRows(set.Bytes(source), source.info->dtype, shape.columns, first, count);
        const absl::StatusOr<Quantized> q = request.square_blocks
                                                ? QuantizeSquareBlocks(x, request.options)
                                                : Quantize(x, request.options);
        if (!q.ok()) return q.status();
        const absl::StatusOr<Tensor<float, 2>> y = DequantizeToFloat(*q, request.options.format);
        if (!y.ok()) return y.status();
        sums->Add(x, *y, *q);
        const std::span<const std::uint8_t> bytes = set.Bytes(source);
        const std::int64_t row_bytes = std::ssize(bytes) / shape.rows;
        ReleasePages(set.shards()[source.shard].file.file_bytes(),
                     bytes.subspan(first * row_bytes, count * row_bytes));
        absl::Status status = sink(0, first * q->elements.dimension(1), BytesOf(q->elements));
        status.Update(sink(1, first / code_rows * q->codes.dimension(1), BytesOf(q->codes)));
        return status;
      });
}

// Why a tensor of a matching name can't be quantized; empty if it can.
std::string WhyNot(const TensorInfo& info, bool square_blocks) {
  if (!IsFloat(info.dtype)) {
    return absl::StrCat("it is ", AbslView(DTypeName(info.dtype)), ", not F32, F16 or BF16");
  }
  if (info.shape.size() < 2) return "it is not a matrix";
  if (info.shape.back() % kBlockSize != 0) {
    return absl::StrCat("K = ", info.shape.back(), " is not a multiple of ", kBlockSize);
  }
  const std::int64_t rows = info.shape[info.shape.size() - 2];
  if (square_blocks && rows % kBlockSize != 0) {
    return absl::StrCat(rows, " rows are not a multiple of ", kBlockSize);
  }
  return "";
}

std::string ScaleName(const std::string& name) {
  const bool weight = name.ends_with(kWeight);
  return absl::StrCat(weight ? name.substr(0, name.size() - kWeight.size()) : name,
                      AbslView(weight ? kScale : "_scale"));
}

DType DTypeOf(ElementFormat format) {
  if (format == ElementFormat::kE4m3Fn) return DType::kF8E4m3;
  if (format == ElementFormat::kE4m3Fnuz) return DType::kF8E4m3Fnuz;
  return DType::kU8;
}

std::vector<TensorSpec> QuantizedSpecs(const TensorInfo& info, const QuantizeRequest& request) {
  TensorSpec elements = {info.name, DTypeOf(request.options.format), info.shape};
  if (request.options.format == ElementFormat::kE2m1) elements.shape.back() /= 2;
  TensorSpec codes = {ScaleName(info.name), DType::kF8E8m0, info.shape};
  codes.shape.back() /= kBlockSize;
  if (request.square_blocks) codes.shape[codes.shape.size() - 2] /= kBlockSize;
  return {elements, codes};
}

absl::Status CheckRequest(const QuantizeRequest& request) {
  const ElementFormat format = request.options.format;
  if (format != ElementFormat::kE4m3Fn && format != ElementFormat::kE4m3Fnuz &&
      format != ElementFormat::kE2m1) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoints are quantized to e4m3fn, e4m3fnuz or e2m1, not to ",
                     AbslView(ElementFormatName(format))));
  }
  return ValidateQuantizeOptions(request.options);
}

}  // namespace

absl::StatusOr<QuantizeReport> QuantizeCheckpoint(const QuantizeRequest& request,
                                                  const RewriteProgress& progress) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  const absl::StatusOr<TensorSet> set = TensorSet::Open(request.in);
  if (!set.ok()) return set.status();
  QuantizeReport report;
  report.source_bytes = set->total_bytes();
  std::vector<RewrittenTensor> tensors(set->tensors().size());
  std::vector<std::unique_ptr<ErrorSums>> sums(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSet::Tensor& source = set->tensors()[i];
    bool quantize = Matches(request.only, source.name()) && !Matches(request.except, source.name());
    if (quantize) {
      const std::string why_not = WhyNot(*source.info, request.square_blocks);
      if (!why_not.empty()) report.left.push_back(absl::StrCat(source.name(), ": ", why_not));
      quantize = why_not.empty();
    }
    if (!quantize) {
      tensors[i].outputs = {*source.info};
      ++report.copied;
      continue;
    }
    sums[i] = std::make_unique<ErrorSums>();
    tensors[i].outputs = QuantizedSpecs(*source.info, request);
    tensors[i].write = [&, i](const RewriteSink& sink) {
      return QuantizeTensor(*set, set->tensors()[i], request, sums[i].get(), sink);
    };
  }
  const absl::StatusOr<std::int64_t> bytes =
      RewriteCheckpoint(*set, {request.in, request.out, request.overwrite, {}}, tensors, progress);
  if (!bytes.ok()) return bytes.status();
  report.bytes = *bytes;
  double error = 0, size = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (sums[i] == nullptr) continue;
    report.tensors.push_back(sums[i]->Result());
    report.tensors.back().name = set->tensors()[i].name();
    const RowShape shape = RowsOf(set->tensors()[i].info->shape);
    report.tensors.back().elements = shape.rows * shape.columns;
    error += sums[i]->error();
    size += sums[i]->size();
  }
  report.relative_rms = size > 0 ? std::sqrt(error / size) : 0;
  return report;
}

}  // namespace lanewise
