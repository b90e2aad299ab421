#include "reference/gfx950/block32_selection.h"

#include <limits>

namespace lanewise::reference::gfx950 {
namespace {

constexpr Block32Config Tiled(int block_m, int block_n, int block_k) {
  return {Block32Form::kTiled, block_m, block_n, block_k};
}

constexpr Block32Config Packed(int block_m, int block_n, int block_k, int pack, int split = 1) {
  return {Block32Form::kPacked, block_m, block_n, block_k, pack, split, split > 1};
}

constexpr std::int64_t kAnyM = std::numeric_limits<std::int64_t>::max();

constexpr Block32Tier kUntuned[] = {
    {8, Packed(8, 16, 256, 2)},
    {32, Packed(32, 32, 256, 1)},
    {256, Tiled(64, 64, 256)},
    {kAnyM, Tiled(128, 128, 128)},
};
constexpr Block32Tier kUntunedQuantizing[] = {{4, Packed(4, 32, 128, 4)}};

constexpr Block32Tier k1152x5120[] = {{1, Packed(8, 16, 1024, 2, 3)}};
constexpr Block32Tier k1152x5120Quantizing[] = {{1, Packed(4, 16, 256, 4, 5)},
                                                {16, Packed(16, 32, 512, 2, 5)}};
// 1792 x 5120 and 2304 x 5120 alike.
constexpr Block32Tier k1792x5120[] = {{1, Packed(8, 16, 1024, 2)}};
constexpr Block32Tier k1792x5120Quantizing[] = {{1, Packed(4, 64, 256, 4, 5)},
                                                {16, Packed(16, 64, 512, 2, 5)}};
constexpr Block32Tier k4096x1280[] = {{1, Packed(4, 16, 256, 4)}};
constexpr Block32Tier k4096x1280Quantizing[] = {{1, Packed(4, 16, 128, 4)},
                                                {16, Packed(16, 16, 128, 2)}};
constexpr Block32Tier k5120x576[] = {{1, Packed(8, 32, 256, 2)}};
constexpr Block32Tier k5120x576Quantizing[] = {{1, Packed(4, 32, 128, 4)},
                                               {16, Packed(8, 64, 128, 2)}};
constexpr Block32Tier k5120x1152[] = {{1, Packed(4, 32, 128, 4)}};
constexpr Block32Tier k5120x1152Quantizing[] = {{1, Packed(4, 32, 128, 4)},
                                                {16, Packed(16, 16, 128, 2)}};
constexpr Block32Tier k5120x2048[] = {{1, Packed(4, 32, 256, 4)}};
// Above 8 rows it quantizes separately.
constexpr Block32Tier k5120x2048Quantizing[] = {{8, Packed(4, 32, 256, 4)}};
constexpr Block32Tier k5120x4096[] = {{1, Packed(4, 32, 512, 4)}};
constexpr Block32Tier k5120x4096Quantizing[] = {{1, Packed(4, 32, 512, 4)},
                                                {16, Packed(16, 64, 256, 1, 5)}};
constexpr Block32Tier k8192x1280[] = {{1, Packed(8, 32, 256, 2)}};
constexpr Block32Tier k8192x1280Quantizing[] = {{1, Packed(4, 32, 128, 4)},
                                                {16, Packed(16, 16, 128, 2)}};
constexpr Block32Tier k16384x1280[] = {{1, Packed(4, 32, 128, 4)}};
constexpr Block32Tier k16384x1280Quantizing[] = {{1, Packed(4, 32, 128, 4)},
                                                 {16, Packed(16, 64, 256, 1)}};

constexpr Block32Entry kEntries[] = {
    {1152, 5120, k1152x5120, k1152x5120Quantizing},
    {1792, 5120, k1792x5120, k1792x5120Quantizing},
    {2304, 5120, k1792x5120, k1792x5120Quantizing},
    {4096, 1280, k4096x1280, k4096x1280Quantizing},
    {5120, 576, k5120x576, k5120x576Quantizing},
    {5120, 1152, k5120x1152, k5120x1152Quantizing},
    {5120, 2048, k5120x2048, k5120x2048Quantizing},
    {5120, 4096, k5120x4096, k5120x4096Quantizing},
    {8192, 1280, k8192x1280, k8192x1280Quantizing},
    {16384, 1280, k16384x1280, k16384x1280Quantizing},
};

std::optional<Block32Config> FirstTier(std::span<const Block32Tier> tiers, std::int64_t m) {
  for (const Block32Tier& tier : tiers) {
    if (m <= tier.max_m) return tier.config;
  }
  return std::nullopt;
}

const Block32Entry* FindEntry(std::int64_t n, std::int64_t k) {
  for (const Block32Entry& entry : kEntries) {
    if (entry.n == n && entry.k == k) return &entry;
  }
  return nullptr;
}

}  // namespace

std::span<const Block32Entry> Block32Entries() { return kEntries; }

Block32Config SelectBlock32(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (const Block32Entry* entry = FindEntry(n, k)) {
    if (const std::optional<Block32Config> config = FirstTier(entry->quantized, m)) return *config;
  }
  // The last tier has no bound.
  return *FirstTier(kUntuned, m);
}

std::optional<Block32Config> SelectBlock32Quantizing(std::int64_t m, std::int64_t n,
                                                     std::int64_t k) {
  const Block32Entry* entry = FindEntry(n, k);
  return FirstTier(entry != nullptr ? entry->quantizing : kUntunedQuantizing, m);
}

}  // namespace lanewise::reference::gfx950
