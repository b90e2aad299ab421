#include "emulator/isa/matrix/matrix_products.h"

#include <bit>
#include <cstddef>
#include <cstring>

#include "formats/formats.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::emulator {
namespace {

constexpr int kLargestK = 128;

float NumberAt(OperandFormat format, const uint8_t* elements, int index) {
  const uint8_t* at = elements + static_cast<ptrdiff_t>(index) * ElementBytes(format);
  switch (format) {
    case OperandFormat::kE4m3Fn:
      return E4m3Fn::FromBits(*at).ToFloat();
    case OperandFormat::kE5m2:
      return E5m2::FromBits(*at).ToFloat();
    case OperandFormat::kF16:
      return F16::FromBits(static_cast<uint16_t>(at[0] | at[1] << 8)).ToFloat();
    default:
      return Bf16::FromBits(static_cast<uint16_t>(at[0] | at[1] << 8)).ToFloat();
  }
}

uint32_t ExactDot(OperandFormat a_format, OperandFormat b_format, const uint8_t* a,
                  const uint8_t* b, int k, uint32_t c) {
  float left[kLargestK], right[kLargestK];
  for (int i = 0; i < k; ++i) {
    left[i] = NumberAt(a_format, a, i);
    right[i] = NumberAt(b_format, b, i);
  }
  const float sum = cdna4::AddDot(a_format, b_format, left, right, k, 0, std::bit_cast<float>(c));
  return sum != sum ? kCanonicalNan : std::bit_cast<uint32_t>(sum);
}

}  // namespace

void AddProducts(Arch arch, const MatrixShape& shape, OperandFormat a_format,
                 OperandFormat b_format, const std::vector<uint8_t>& a,
                 const std::vector<uint8_t>& b, std::vector<uint32_t>& c) {
  const int bytes = ElementBytes(a_format);
  std::vector<uint8_t> column(static_cast<size_t>(shape.k) * bytes);
  for (int block = 0; block < shape.blocks; ++block) {
    for (int j = 0; j < shape.n; ++j) {
      for (int k = 0; k < shape.k; ++k) {
        std::memcpy(&column[static_cast<size_t>(k) * bytes],
                    &b[static_cast<size_t>((block * shape.k + k) * shape.n + j) * bytes], bytes);
      }
      for (int i = 0; i < shape.m; ++i) {
        uint32_t& element = c[(block * shape.m + i) * shape.n + j];
        const uint8_t* row = &a[static_cast<size_t>(block * shape.m + i) * shape.k * bytes];
        element =
            arch == Arch::kGfx942
                ? cdna3::DotAccumulate(a_format, b_format, row, column.data(), shape.k, element)
                : ExactDot(a_format, b_format, row, column.data(), shape.k, element);
      }
    }
  }
}

void AddIntegerProducts(const MatrixShape& shape, const std::vector<uint8_t>& a,
                        const std::vector<uint8_t>& b, std::vector<uint32_t>& c) {
  // Copies that alias nothing, so that the inner loop becomes vector instructions.
  constexpr int kMostColumns = 32;
  std::vector<int32_t> wide(b.size());
  for (size_t e = 0; e < b.size(); ++e) wide[e] = static_cast<int8_t>(b[e]);
  for (int block = 0; block < shape.blocks; ++block) {
    for (int i = 0; i < shape.m; ++i) {
      uint32_t sums[kMostColumns] = {};
      for (int k = 0; k < shape.k; ++k) {
        const int32_t left = static_cast<int8_t>(a[(block * shape.m + i) * shape.k + k]);
        const int32_t* const row = &wide[(block * shape.k + k) * shape.n];
        for (int j = 0; j < shape.n; ++j) sums[j] += static_cast<uint32_t>(left * row[j]);
      }
      uint32_t* const out = &c[(block * shape.m + i) * shape.n];
      for (int j = 0; j < shape.n; ++j) out[j] += sums[j];
    }
  }
}

}  // namespace lanewise::emulator
