// Packing rows of bf16 in one pass: RowSource::bf16.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/formats.h"
#include "gtest/gtest.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/pack.h"
#include "weights/bf16_rows.h"
#include "weights/block_kernels.h"
#include "weights/each_instruction_set.h"
#include "weights/packer.h"

namespace lanewise {
namespace {

// byte x 2^(code - 127), which is normal for codes 10 .. 246.
std::uint16_t HalfOf(std::uint8_t byte, int code) {
  const float value = E4m3Fn::FromBits(byte).ToFloat() * E8m0::FromBits(code).ToFloat();
  return Bf16::FromFloat(value).bits();
}

const Layout& LayoutOf(std::string_view tag) {
  return *std::find_if(std::begin(kCatalogue), std::end(kCatalogue),
                       [tag](const Layout& layout) { return layout.tag == tag; });
}

struct Shape {
  const char* layout;
  std::int64_t rows, row_bytes, valid;
  std::int64_t code_elements;
};

// Each row and its codes in memory of their own, exactly as long as they are.
struct Matrix {
  std::vector<std::vector<std::uint8_t>> bytes, halves, codes;
  std::vector<bool> missing;
};

Matrix Draw(const Shape& shape, std::mt19937_64& random) {
  Matrix matrix;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    matrix.missing.push_back(random() % 16 == 0);
    matrix.bytes.emplace_back(shape.valid);
    matrix.halves.emplace_back(2 * shape.valid);
    matrix.codes.emplace_back((shape.valid + shape.code_elements - 1) / shape.code_elements);
    for (std::uint8_t& code : matrix.codes.back()) {
      code = static_cast<std::uint8_t>(10 + random() % 237);
    }
    for (std::int64_t i = 0; i < shape.valid; ++i) {
      std::uint8_t byte = static_cast<std::uint8_t>(random() % 4 == 0 ? 0x80 : random());
      if ((byte & 0x7F) == 0x7F) byte ^= 1;
      const std::uint16_t half = HalfOf(byte, matrix.codes.back()[i / shape.code_elements]);
      matrix.bytes.back()[i] = byte;
      std::memcpy(&matrix.halves.back()[2 * i], &half, 2);
    }
  }
  return matrix;
}

// `matrix` as a source that counts the rows it is made to convert itself.
RowSource SourceOf(const Matrix& matrix, const Shape& shape, std::int64_t* converted) {
  RowSource source;
  source.valid_bytes = shape.valid;
  source.padding = 0x5A;
  source.computed = true;
  source.code_elements = shape.code_elements;
  source.row = [&matrix, shape, converted](std::int64_t row,
                                           std::uint8_t* scratch) -> const std::uint8_t* {
    if (matrix.missing[row]) return nullptr;
    ++*converted;
    OcpFromDequantRow(matrix.halves[row].data(), matrix.codes[row].data(), shape.code_elements,
                      shape.valid, scratch);
    return scratch;
  };
  source.bf16 = [&matrix](std::int64_t row) -> Bf16Row {
    if (matrix.missing[row]) return {};
    return {matrix.halves[row].data(), matrix.codes[row].data()};
  };
  return source;
}

constexpr std::size_t kGuard = 128;

// Packs all rows with the rewrite; the guards around the memory have to stay.
void Check(const Shape& shape, const Matrix& matrix, Rewrite rewrite, PackOptions::Stores stores,
           std::int64_t* converted) {
  SCOPED_TRACE(shape.layout + std::string(" K ") + std::to_string(shape.valid) + " codes of " +
               std::to_string(shape.code_elements));
  std::vector<std::uint8_t> logical(shape.rows * shape.row_bytes, 0x5A);
  RewriteCounts expected_counts;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t i = 0; i < shape.valid && !matrix.missing[row]; ++i) {
      std::uint8_t byte = matrix.bytes[row][i];
      if (rewrite == Rewrite::kE4m3ToFnuz) {
        expected_counts.nans += (byte & 0x7F) == 0x7F;
        if (byte == 0x80) byte = 0, ++expected_counts.negative_zeros;
      }
      logical[row * shape.row_bytes + i] = byte;
    }
  }
  const std::int64_t extents[] = {shape.rows, shape.row_bytes};
  const auto bound = Bind(LayoutOf(shape.layout), extents);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  std::vector<std::uint8_t> expected(logical.size());
  ASSERT_TRUE(Pack(*bound, 1, logical, expected).ok());

  const auto packer = Packer::Create(*bound);
  ASSERT_TRUE(packer.ok()) << packer.status().message();
  // Aligned to 64 bytes, as streaming asks for.
  std::vector<std::uint8_t> room(logical.size() + 2 * kGuard + 64, 0xC3);
  const auto address = reinterpret_cast<std::uintptr_t>(room.data());
  std::uint8_t* const memory = room.data() + kGuard + (64 - address % 64) % 64;
  PackOptions options;
  options.rewrite = rewrite;
  options.stores = stores;
  const auto counts =
      packer->Pack(SourceOf(matrix, shape, converted), options, std::span(memory, logical.size()));
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_EQ(*counts, expected_counts);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(memory[i], expected[i]) << "memory byte " << i;
  }
  for (const std::uint8_t* at = room.data(); at < room.data() + room.size(); ++at) {
    if (at == memory) at += logical.size();
    ASSERT_EQ(*at, 0xC3) << "byte " << at - memory << " around the memory";
  }
}

const Shape kShapes[] = {
    {"gfx942/dense", 32, 1024, 1024, 32},
    {"gfx942/dense", 16, 640, 576, 32},
    {"gfx942/dense", 16, 640, 608, 128},
    {"gfx942/dense_chunk_q", 48, 1152, 1120, 32},
    {"gfx942/dense", 16, 768, 672, 96},
    {"gfx942/dense", 16, 128, 32, 32},
    {"aiter/shuffle_weight_16x16", 64, 96, 96, 32},
    {"plain", 20, 4096, 4096, 64},
    {"plain", 5, 1376, 1376, 32},
};

TEST(Bf16Pack, EveryShapeAndInstructionSet) {
  std::mt19937_64 random(20250729);
  for (const Shape& shape : kShapes) {
    const Matrix matrix = Draw(shape, random);
    ForEachInstructionSet([&] {
      for (const Rewrite rewrite : {Rewrite::kNone, Rewrite::kE4m3ToFnuz}) {
        for (const auto stores : {PackOptions::Stores::kCached, PackOptions::Stores::kStreaming}) {
          std::int64_t converted = 0;
          Check(shape, matrix, rewrite, stores, &converted);
        }
      }
    });
  }
}

TEST(Bf16Pack, RowsThatAreNotExactGoToTheSource) {
  std::mt19937_64 random(7);
  for (const Shape& shape : kShapes) {
    Matrix matrix = Draw(shape, random);
    // NaN under an ordinary code, and ordinary values under one whose bf16 are not all normal.
    const std::int64_t row = shape.rows - 1, at = shape.valid - 1;
    matrix.missing[row] = false;
    const std::uint16_t nan = 0x7FC0;
    std::memcpy(&matrix.halves[row][2 * at], &nan, 2);
    matrix.bytes[row][at] = 0x7F;
    matrix.missing[0] = false;
    matrix.codes[0][0] = 9;
    for (std::int64_t i = 0; i < std::min(shape.valid, shape.code_elements); ++i) {
      matrix.bytes[0][i] = 0x38;
      const std::uint16_t half = HalfOf(0x38, 9);
      std::memcpy(&matrix.halves[0][2 * i], &half, 2);
    }
    ForEachInstructionSet([&] {
      std::int64_t converted = 0;
      Check(shape, matrix, Rewrite::kE4m3ToFnuz, PackOptions::Stores::kStreaming, &converted);
      EXPECT_GT(converted, 0);
    });
  }
}

// Every bf16 under codes at both ends and in the middle, each alone among zeros: those that have a
// byte get it, and of the others the source is asked.
TEST(Bf16Pack, EveryValue) {
  const Shape shape = {"gfx942/dense", 16, 128, 128, 32};
  const std::int64_t extents[] = {shape.rows, shape.row_bytes};
  const auto bound = Bind(LayoutOf(shape.layout), extents);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  Matrix matrix;
  matrix.missing.assign(shape.rows, false);
  matrix.bytes.assign(shape.rows, std::vector<std::uint8_t>(shape.valid));
  matrix.halves.assign(shape.rows, std::vector<std::uint8_t>(2 * shape.valid));
  matrix.codes.assign(shape.rows, std::vector<std::uint8_t>(shape.valid / 32, 127));
  ForEachInstructionSet([&] {
    if (VectorBytes() < 64) return;  // there the source converts every row
    const auto packer = Packer::Create(*bound);
    ASSERT_TRUE(packer.ok()) << packer.status().message();
    std::vector<std::uint8_t> memory(shape.rows * shape.row_bytes);
    for (const int code : {0, 9, 10, 127, 246, 247, 255}) {
      for (int half = 0; half < 1 << 16; ++half) {
        const std::int64_t row = half % 16, at = half / 16 % 128;
        matrix.codes[row][at / 32] = static_cast<std::uint8_t>(code);
        std::memcpy(&matrix.halves[row][2 * at], &half, 2);
        std::int64_t converted = 0;
        const auto counts = packer->Pack(SourceOf(matrix, shape, &converted), {}, memory);
        ASSERT_TRUE(counts.ok());
        std::vector<std::uint8_t> expected(shape.valid);
        const WrongValues wrong = OcpFromDequantRow(
            matrix.halves[row].data(), matrix.codes[row].data(), 32, shape.valid, expected.data());
        ASSERT_EQ(memory[bound->Offset(std::array{row, at}.data())], expected[at])
            << "bf16 " << half << " under code " << code;
        ASSERT_TRUE(wrong.count == 0 || converted > 0) << "bf16 " << half << " under code " << code;
        matrix.codes[row][at / 32] = 127;
        std::memset(&matrix.halves[row][2 * at], 0, 2);
      }
    }
  });
}

}  // namespace
}  // namespace lanewise
