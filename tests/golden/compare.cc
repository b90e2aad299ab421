#include "tests/golden/compare.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "formats/formats.h"

namespace lanewise::golden {
namespace {

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    absl::StrAppend(&text, axis == 0 ? "" : ", ", shape[axis]);
  }
  return text + "]";
}

std::string CoordinateText(const std::vector<std::int64_t>& shape, std::int64_t element) {
  std::vector<std::int64_t> coordinate(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    coordinate[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return ShapeText(coordinate);
}

// Element `index` of `width` bytes, little-endian.
std::uint64_t BitsAt(const std::uint8_t* bytes, std::int64_t index, std::int64_t width) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes + index * width, static_cast<std::size_t>(width));
  return bits;
}

template <class Format>
double FormatValue(std::uint64_t bits) {
  return Format::FromBits(static_cast<typename Format::Bits>(bits)).ToFloat();
}

bool IsFloat(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kF32:
    case DType::kBf16:
    case DType::kF16:
    case DType::kF8E4m3:
    case DType::kF8E5m2:
    case DType::kF8E4m3Fnuz:
    case DType::kF8E5m2Fnuz:
    case DType::kF8E8m0:
      return true;
    default:
      return false;
  }
}

// The number of a float's bits.
double Value(DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::kF64:
      return std::bit_cast<double>(bits);
    case DType::kF32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case DType::kBf16:
      return FormatValue<Bf16>(bits);
    case DType::kF16:
      return FormatValue<F16>(bits);
    case DType::kF8E4m3:
      return FormatValue<E4m3Fn>(bits);
    case DType::kF8E5m2:
      return FormatValue<E5m2>(bits);
    case DType::kF8E4m3Fnuz:
      return FormatValue<E4m3Fnuz>(bits);
    case DType::kF8E5m2Fnuz:
      return FormatValue<E5m2Fnuz>(bits);
    case DType::kF8E8m0:
      return FormatValue<E8m0>(bits);
    default:
      return static_cast<double>(bits);
  }
}

bool Equal(DType dtype, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  if (!IsFloat(dtype)) return false;
  const double x = Value(dtype, a), y = Value(dtype, b);
  return x == y || (x != x && y != y);
}

std::string ElementText(DType dtype, std::uint64_t bits, std::int64_t width) {
  const std::string hex = absl::StrFormat("0x%0*X", static_cast<int>(2 * width), bits);
  if (IsFloat(dtype)) return absl::StrFormat("%s (%.9g)", hex, Value(dtype, bits));
  return width > 1 ? absl::StrCat(hex, " (", static_cast<std::int64_t>(bits), ")") : hex;
}

absl::Status CompareTensor(const std::string& role, const TensorView& expected,
                           const OutputTensor& actual) {
  if (expected.shape != actual.shape) {
    return FailedPrecondition("'", role, "' has shape ", ShapeText(actual.shape), ", expected ",
                              ShapeText(expected.shape));
  }
  const std::int64_t bits = BitsPerElement(expected.dtype);
  if (bits % 8 != 0 || bits != BitsPerElement(actual.dtype) ||
      expected.bytes.size() != actual.bytes.size()) {
    return FailedPrecondition("'", role, "' is ", DTypeName(actual.dtype), " of ",
                              actual.bytes.size(), " bytes, expected ", DTypeName(expected.dtype),
                              " of ", expected.bytes.size(), " bytes");
  }
  const std::int64_t width = bits / 8;
  const std::int64_t count = static_cast<std::int64_t>(expected.bytes.size()) / width;
  std::int64_t wrong = 0;
  std::string first;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t want = BitsAt(expected.bytes.data(), i, width);
    const std::uint64_t have = BitsAt(actual.bytes.data(), i, width);
    if (Equal(actual.dtype, want, have)) continue;
    if (wrong++ == 0) {
      first = absl::StrCat(CoordinateText(expected.shape, i), " is ",
                           ElementText(actual.dtype, have, width), ", expected ",
                           ElementText(actual.dtype, want, width));
    }
  }
  if (wrong == 0) return absl::OkStatus();
  return FailedPrecondition("'", role, "'", first, "; ", wrong, " of ", count, " elements of ",
                            ShapeText(expected.shape), " differ");
}

}  // namespace

absl::Status CompareResults(const Case& golden_case, const Results& results) {
  for (const auto& [role, expected] : golden_case.outputs()) {
    const auto found = results.tensors.find(role);
    if (found == results.tensors.end()) {
      return FailedPrecondition("gives no '", role, "', expected ", ShapeText(expected.shape));
    }
    LANEWISE_RETURN_IF_ERROR(CompareTensor(role, expected, found->second));
  }
  for (const auto& [role, tensor] : results.tensors) {
    if (golden_case.outputs().count(role) == 0) {
      return FailedPrecondition("gives '", role, "' ", ShapeText(tensor.shape), ", expected none");
    }
  }
  for (const auto& [name, count] : results.counts) {
    LANEWISE_ASSIGN_OR_RETURN(std::int64_t expected, golden_case.IntArg(name, count));
    if (expected != count) {
      return FailedPrecondition("'", name, "' is ", count, ", expected ", expected);
    }
  }
  return absl::OkStatus();
}

}  // namespace lanewise::golden
