#include "weights/packer.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/pack.h"
#include "layouts/test_shapes.h"
#include "weights/each_instruction_set.h"

namespace lanewise {
namespace {

constexpr std::size_t kGuard = 128;

std::uint8_t Rewritten(std::uint8_t byte, Rewrite rewrite, RewriteCounts* counts) {
  if (rewrite == Rewrite::kE4m3ToFnuz) {
    if (byte == 0x7F || byte == 0xFF) ++counts->nans;
    if (byte != 0x80) return byte;
    ++counts->negative_zeros;
    return 0;
  }
  if (rewrite == Rewrite::kE2m1DropNegativeZero) {
    int low = byte & 15, high = byte >> 4;
    if (low == 8) low = 0, ++counts->negative_zeros;
    if (high == 8) high = 0, ++counts->negative_zeros;
    return static_cast<std::uint8_t>(high << 4 | low);
  }
  return byte;
}

struct Rows {
  std::vector<std::vector<std::uint8_t>> row;
  std::vector<bool> missing;
};

class PackerOverCatalogue : public testing::Test {
 protected:
  void Check(const BoundCase& test, Rewrite rewrite, int threads, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::int64_t rows = test.extents[0], bytes = test.extents[1];
    const std::int64_t valid =
        bytes == 0 ? 0
                   : bytes - static_cast<std::int64_t>(random() % 3 == 0 ? random() % bytes : 0);
    // Each row in memory of its own, exactly as long as is valid, so that a sanitizer sees
    // over-reads.
    Rows source_rows;
    RewriteCounts expected_counts;
    std::vector<std::uint8_t> logical(rows * bytes);
    const std::uint8_t padding = static_cast<std::uint8_t>(random());
    for (std::int64_t r = 0; r < rows; ++r) {
      source_rows.missing.push_back(random() % 8 == 0);
      source_rows.row.emplace_back(valid);
      for (std::uint8_t& byte : source_rows.row.back()) {
        byte = static_cast<std::uint8_t>(random() % 4 == 0 ? 0x80 : random());
      }
      for (std::int64_t b = 0; b < bytes; ++b) {
        const bool padded = source_rows.missing[r] || b >= valid;
        logical[r * bytes + b] =
            padded ? padding : Rewritten(source_rows.row[r][b], rewrite, &expected_counts);
      }
    }
    std::vector<std::uint8_t> expected(logical.size());
    ASSERT_TRUE(Pack(test.bound, 1, logical, expected).ok());

    const auto packer = Packer::Create(test.bound);
    ASSERT_TRUE(packer.ok()) << packer.status().message();
    RowSource source;
    source.valid_bytes = valid;
    source.padding = padding;
    source.computed = random() % 2 == 0;
    source.row = [&](std::int64_t row, std::uint8_t* scratch) -> const std::uint8_t* {
      EXPECT_TRUE(row >= 0 && row < rows) << row;
      if (source_rows.missing[row]) return nullptr;
      if (!source.computed) return source_rows.row[row].data();
      std::copy(source_rows.row[row].begin(), source_rows.row[row].end(), scratch);
      return scratch;
    };
    PackOptions options;
    options.rewrite = rewrite;
    options.threads = threads;
    for (const auto stores : {PackOptions::Stores::kCached, PackOptions::Stores::kStreaming}) {
      options.stores = stores;
      const std::size_t shift = random() % 3 * 8;  // memory need not be aligned
      std::vector<std::uint8_t> guarded(expected.size() + 2 * kGuard, 0xA5);
      const std::span<std::uint8_t> memory(guarded.data() + kGuard - shift, expected.size());
      // In one go, or in two parts that meet at a lead.
      const std::int64_t cut = random() % 2 == 0 ? packer->leads() : packer->leads() / 2;
      const std::int64_t cut_bytes = cut * packer->lead_bytes();
      auto counts = packer->PackLeads(source, options, 0, cut, memory.subspan(0, cut_bytes));
      ASSERT_TRUE(counts.ok()) << counts.status().message();
      const auto rest =
          packer->PackLeads(source, options, cut, packer->leads() - cut, memory.subspan(cut_bytes));
      ASSERT_TRUE(rest.ok()) << rest.status().message();
      *counts += *rest;
      EXPECT_EQ(counts->negative_zeros, expected_counts.negative_zeros);
      EXPECT_EQ(counts->nans, expected_counts.nans);
      const auto wrong = std::mismatch(memory.begin(), memory.end(), expected.begin());
      ASSERT_TRUE(wrong.first == memory.end())
          << "first wrong byte at offset " << wrong.first - memory.begin() << ": expected "
          << int{*wrong.second} << ", got " << int{*wrong.first};
      for (std::size_t i = 0; i < guarded.size(); ++i) {
        if (&guarded[i] < memory.data() || &guarded[i] >= memory.data() + memory.size()) {
          ASSERT_EQ(guarded[i], 0xA5) << "written outside, at " << i;
        }
      }
    }

    // And back.
    Rows back;
    for (std::int64_t r = 0; r < rows; ++r) back.row.emplace_back(valid, 0x5A);
    const RowSink sink = {[&](std::int64_t row) -> std::uint8_t* {
                            return source_rows.missing[row] ? nullptr : back.row[row].data();
                          },
                          valid};
    ASSERT_TRUE(packer->Unpack(expected, sink, threads).ok());
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t b = 0; b < valid; ++b) {
        ASSERT_EQ(back.row[r][b], source_rows.missing[r] ? 0x5A : logical[r * bytes + b])
            << "row " << r << ", byte " << b;
      }
    }
  }
};

TEST_F(PackerOverCatalogue, EqualsThePlainPackInEveryInstructionSet) {
  const std::uint64_t seed = std::random_device()();
  std::uint64_t draw = seed;
  ForEachInstructionSet([&] {
    for (const BoundCase& test : CatalogueCases()) {
      if (test.bound.axes() != 2 || test.bound.units() > 40'000) continue;
      for (const Rewrite rewrite :
           {Rewrite::kNone, Rewrite::kE4m3ToFnuz, Rewrite::kE2m1DropNegativeZero}) {
        SCOPED_TRACE(test.name + ", rewrite " + std::to_string(static_cast<int>(rewrite)) +
                     ", seed " + std::to_string(draw));
        Check(test, rewrite, 1 + static_cast<int>(draw % 3), draw);
        if (HasFatalFailure()) return;
        ++draw;
      }
    }
  });
}

// Room of `bytes` that begins at a multiple of 64, with guards around.
class GuardedRoom {
 public:
  explicit GuardedRoom(std::size_t bytes) : room_(bytes + 2 * kGuard + 64, 0xA5) {
    const auto address = reinterpret_cast<std::uintptr_t>(room_.data()) + kGuard;
    span_ = {room_.data() + kGuard + (64 - address % 64) % 64, bytes};
  }
  std::span<std::uint8_t> span() const { return span_; }
  bool GuardsHold() const {
    const auto outside = [this](const std::uint8_t& byte) {
      return &byte < span_.data() || &byte >= span_.data() + span_.size();
    };
    return std::all_of(room_.begin(), room_.end(),
                       [&](const std::uint8_t& byte) { return !outside(byte) || byte == 0xA5; });
  }

 private:
  std::vector<std::uint8_t> room_;
  std::span<std::uint8_t> span_;
};

// What only rows of many lines take: networks of many exchanges, neighbouring lines together,
// whole lines past the caches, reading ahead.
TEST(Packer, LongAlignedRowsPastTheCaches) {
  constexpr std::int64_t kRows = 512, kBytes = 5120;  // more than kStreamingBytes
  std::mt19937_64 random(20251130);
  GuardedRoom source(kRows * kBytes), memory(kRows * kBytes), back(kRows * kBytes);
  for (std::uint8_t& byte : source.span()) byte = static_cast<std::uint8_t>(random());
  std::vector<std::uint8_t> expected(kRows * kBytes);
  int layouts = 0;
  for (const Layout& entry : kCatalogue) {
    if (entry.main.axes != 2) continue;
    const Layout layout = entry.WithParameter("blocks", 8).WithParameter("chunks", 8);
    const std::int64_t extents[] = {kRows, kBytes};
    const auto bound = Bind(layout, extents);
    if (!bound.ok()) continue;  // a matrix-core operand
    ++layouts;
    SCOPED_TRACE(std::string(layout.tag));
    ASSERT_TRUE(Pack(*bound, 1, source.span(), expected).ok());
    ForEachInstructionSet([&] {
      const auto packer = Packer::Create(*bound);
      ASSERT_TRUE(packer.ok());
      std::fill(memory.span().begin(), memory.span().end(), 0x5A);
      PackOptions options;
      options.threads = 2;
      ASSERT_TRUE(packer->Pack(ContiguousRows(source.span(), kBytes), options, memory.span()).ok());
      const auto wrong = std::mismatch(expected.begin(), expected.end(), memory.span().begin());
      ASSERT_TRUE(wrong.first == expected.end())
          << "first wrong byte of the memory at " << wrong.first - expected.begin();
      for (const std::int64_t valid : {kBytes, kBytes - 120}) {
        std::fill(back.span().begin(), back.span().end(), 0x5A);
        RowSink sink = ContiguousSink(back.span(), kBytes);
        sink.valid_bytes = valid;
        ASSERT_TRUE(packer->Unpack(expected, sink, 2).ok());
        for (std::int64_t row = 0; row < kRows; ++row) {
          std::vector<std::uint8_t> wanted(kBytes, 0x5A);
          std::copy_n(source.span().begin() + row * kBytes, valid, wanted.begin());
          const auto wrong =
              std::mismatch(wanted.begin(), wanted.end(), back.span().begin() + row * kBytes);
          ASSERT_TRUE(wrong.first == wanted.end())
              << "row " << row << ", byte " << wrong.first - wanted.begin() << " of " << valid;
        }
      }
      ASSERT_TRUE(memory.GuardsHold() && back.GuardsHold());
    });
  }
  EXPECT_GE(layouts, 10);
}

TEST(Packer, RewritesEveryByteValueOfEachKind) {
  // One row of all 256 bytes through an order that moves nothing.
  Layout plain;
  plain.tag = "plain";
  plain.main = "row byte -> row byte";
  const std::int64_t extents[] = {1, 256};
  std::vector<std::uint8_t> all(256), out(256);
  for (int i = 0; i < 256; ++i) all[i] = static_cast<std::uint8_t>(i);
  ForEachInstructionSet([&] {
    const auto packer = Packer::Create(BindLayout(plain, extents, 2).layout);
    ASSERT_TRUE(packer.ok());
    PackOptions options;
    options.rewrite = Rewrite::kE4m3ToFnuz;
    auto counts = packer->Pack(ContiguousRows(all, 256), options, out);
    EXPECT_EQ(counts->negative_zeros, 1);
    EXPECT_EQ(counts->nans, 2);
    for (int i = 0; i < 256; ++i) EXPECT_EQ(out[i], i == 0x80 ? 0 : i);
    options.rewrite = Rewrite::kE2m1DropNegativeZero;
    counts = packer->Pack(ContiguousRows(all, 256), options, out);
    EXPECT_EQ(counts->negative_zeros, 32);  // 16 bytes with a low 8, 16 with a high 8
    for (int i = 0; i < 256; ++i) {
      const int low = (i & 15) == 8 ? 0 : i & 15, high = i >> 4 == 8 ? 0 : i >> 4;
      EXPECT_EQ(out[i], high * 16 + low);
    }
  });
}

TEST(Packer, RefusesWhatDoesNotFit) {
  const std::vector<BoundCase> cases = CatalogueCases();
  const auto dense = std::find_if(cases.begin(), cases.end(), [](const BoundCase& test) {
    return test.layout.tag == "gfx942/dense" && test.bound.units() > 4096;
  });
  ASSERT_NE(dense, cases.end());
  const auto packer = Packer::Create(dense->bound);
  ASSERT_TRUE(packer.ok());
  std::vector<std::uint8_t> bytes(dense->bound.units());
  const RowSource source = ContiguousRows(bytes, dense->extents[1]);
  std::vector<std::uint8_t> out(bytes.size() + 1);
  EXPECT_FALSE(packer->Pack(source, {}, out).ok());
  EXPECT_FALSE(packer->PackLeads(source, {}, 0, packer->leads() + 1, out).ok());
  EXPECT_FALSE(packer->PackLeads(source, {}, -1, 1, out).ok());
  RowSource wide = source;
  wide.valid_bytes = dense->extents[1] + 1;
  out.pop_back();
  EXPECT_FALSE(packer->Pack(wide, {}, out).ok());
  EXPECT_TRUE(packer->Pack(source, {}, out).ok());
  EXPECT_FALSE(packer->Unpack(out, ContiguousSink(bytes, dense->extents[1] + 1), 1).ok());
  const auto gate_up = std::find_if(cases.begin(), cases.end(),
                                    [](const BoundCase& test) { return test.bound.axes() == 4; });
  ASSERT_NE(gate_up, cases.end());
  EXPECT_FALSE(Packer::Create(gate_up->bound).ok());
}

// A checkpoint has tens of thousands of weights, and few shapes: 12 KiB of plans for each of them
// were more than a GiB.
TEST(Packer, EqualLayoutsShareTheirPlans) {
  const std::int64_t extents[] = {32, 256}, other_extents[] = {48, 256};
  const auto bound = Bind(CatalogueLayout("gfx942/dense"), extents);
  const auto other = Bind(CatalogueLayout("gfx942/dense"), other_extents);
  ASSERT_TRUE(bound.ok() && other.ok());
  const auto before = mallinfo2().uordblks;
  std::vector<Packer> packers;
  for (int i = 0; i < 1000; ++i) packers.push_back(*Packer::Create(i % 2 == 0 ? *bound : *other));
  EXPECT_LT((mallinfo2().uordblks - before) / packers.size(), 2 * sizeof(Packer) + 512);
  // What they share is their own layout's.
  std::vector<std::uint8_t> weights(48 * 256);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  for (const std::size_t i : {std::size_t{998}, std::size_t{999}}) {
    const BoundLayout& layout = packers[i].layout();
    std::vector<std::uint8_t> memory(layout.units(), 0xA5);
    ASSERT_TRUE(packers[i].Pack(ContiguousRows(weights, 256), {}, memory).ok());
    for (std::int64_t row = 0; row < layout.extent(0); ++row) {
      for (std::int64_t k = 0; k < 256; ++k) {
        const std::int64_t at[] = {row, k};
        ASSERT_EQ(memory[layout.Offset(at)], weights[row * 256 + k]) << "row " << row << " k " << k;
      }
    }
  }
}

}  // namespace
}  // namespace lanewise
