#include "checkpoint/safetensors/dtype.h"

#include <array>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"

namespace lanewise {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  int64_t bits;
};

constexpr std::array kEntries = {
    Entry{DType::kBool, "BOOL", 8},
    Entry{DType::kU8, "U8", 8},
    Entry{DType::kI8, "I8", 8},
    Entry{DType::kU16, "U16", 16},
    Entry{DType::kI16, "I16", 16},
    Entry{DType::kU32, "U32", 32},
    Entry{DType::kI32, "I32", 32},
    Entry{DType::kU64, "U64", 64},
    Entry{DType::kI64, "I64", 64},
    Entry{DType::kF16, "F16", 16},
    Entry{DType::kBf16, "BF16", 16},
    Entry{DType::kF32, "F32", 32},
    Entry{DType::kF64, "F64", 64},
    Entry{DType::kC64, "C64", 64},
    Entry{DType::kF8E4m3, "F8_E4M3", 8},
    Entry{DType::kF8E5m2, "F8_E5M2", 8},
    Entry{DType::kF8E8m0, "F8_E8M0", 8},
    Entry{DType::kF8E4m3Fnuz, "F8_E4M3FNUZ", 8},
    Entry{DType::kF8E5m2Fnuz, "F8_E5M2FNUZ", 8},
    Entry{DType::kF6E2m3, "F6_E2M3", 6},
    Entry{DType::kF6E3m2, "F6_E3M2", 6},
    Entry{DType::kF4, "F4", 4},
};

constexpr bool InEnumerationOrder() {
  for (size_t i = 0; i < kEntries.size(); ++i) {
    if (static_cast<size_t>(kEntries[i].dtype) != i) return false;
  }
  return true;
}
static_assert(InEnumerationOrder(), "a type's entry stands at the type's own number");

constexpr auto kAll = [] {
  std::array<DType, kEntries.size()> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = kEntries[i].dtype;
  return all;
}();

const Entry& EntryOf(DType dtype) { return kEntries[static_cast<size_t>(dtype)]; }

}  // namespace

std::span<const DType> AllDTypes() { return kAll; }

std::string_view DTypeName(DType dtype) { return EntryOf(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

int64_t BitsPerElement(DType dtype) { return EntryOf(dtype).bits; }

absl::StatusOr<int64_t> ElementCount(std::span<const int64_t> shape) {
  int64_t product = 1;  // of the non-zero dimensions
  bool zero = false;
  for (const int64_t size : shape) {
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", DimensionsText(shape), " has the negative dimension ", size));
    }
    if (size == 0) {
      zero = true;
    } else if (product > std::numeric_limits<int64_t>::max() / size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape ", DimensionsText(shape), " has dimensions whose product is beyond 2^63 - 1"));
    } else {
      product *= size;
    }
  }
  return zero ? 0 : product;
}

absl::StatusOr<int64_t> ByteCount(DType dtype, std::span<const int64_t> shape) {
  absl::StatusOr<int64_t> count = ElementCount(shape);
  if (!count.ok()) return count;
  const int64_t bits = BitsPerElement(dtype);
  if (*count > std::numeric_limits<int64_t>::max() / bits) {
    return absl::InvalidArgumentError(absl::StrCat(
        *count, " elements of ", AbslView(DTypeName(dtype)), " are more than 2^63 - 1 bits"));
  }
  if (*count * bits % 8 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", DimensionsText(shape), " of ", AbslView(DTypeName(dtype)), " is ",
                     *count * bits, " bits, which is not a whole number of bytes"));
  }
  return *count * bits / 8;
}

}  // namespace lanewise
