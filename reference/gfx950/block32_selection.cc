#include "reference/gfx950/block32_selection.h"

namespace lanewise::reference::gfx950 {
namespace {

// How the kernel that quantizes is launched is not known: the defaults stand for it.
constexpr Block32Config Packed(int block_m, int block_n, int block_k, int pack, int split = 1) {
  return {Block32Form::kPacked, block_m, block_n, block_k, pack, split, split > 1};
}

constexpr Block32Tier kUntuned[] = {{4, Packed(4, 32, 128, 4)}};

constexpr Block32Tier k1152x5120[] = {{1, Packed(4, 16, 256, 4, 5)},
                                      {16, Packed(16, 32, 512, 2, 5)}};
// 1792 x 5120 and 2304 x 5120 alike.
constexpr Block32Tier k1792x5120[] = {{1, Packed(4, 64, 256, 4, 5)},
                                      {16, Packed(16, 64, 512, 2, 5)}};
constexpr Block32Tier k4096x1280[] = {{1, Packed(4, 16, 128, 4)}, {16, Packed(16, 16, 128, 2)}};
constexpr Block32Tier k5120x576[] = {{1, Packed(4, 32, 128, 4)}, {16, Packed(8, 64, 128, 2)}};
constexpr Block32Tier k5120x1152[] = {{1, Packed(4, 32, 128, 4)}, {16, Packed(16, 16, 128, 2)}};
// Above 8 rows it quantizes separately.
constexpr Block32Tier k5120x2048[] = {{8, Packed(4, 32, 256, 4)}};
constexpr Block32Tier k5120x4096[] = {{1, Packed(4, 32, 512, 4)}, {16, Packed(16, 64, 256, 1, 5)}};
constexpr Block32Tier k8192x1280[] = {{1, Packed(4, 32, 128, 4)}, {16, Packed(16, 16, 128, 2)}};
constexpr Block32Tier k16384x1280[] = {{1, Packed(4, 32, 128, 4)}, {16, Packed(16, 64, 256, 1)}};

constexpr Block32Entry kEntries[] = {
    {1152, 5120, k1152x5120},   {1792, 5120, k1792x5120}, {2304, 5120, k1792x5120},
    {4096, 1280, k4096x1280},   {5120, 576, k5120x576},   {5120, 1152, k5120x1152},
    {5120, 2048, k5120x2048},   {5120, 4096, k5120x4096}, {8192, 1280, k8192x1280},
    {16384, 1280, k16384x1280},
};

Block32Tiers TiersOf(std::span<const Block32Entry> entries, std::int64_t n, std::int64_t k,
                     const Block32Tiers& untuned) {
  for (const Block32Entry& entry : entries) {
    if (entry.n == n && entry.k == k) return entry.tiers;
  }
  return untuned;
}

// The first tier that serves m rows, or null.
const Block32Tier* FirstTier(const Block32Tiers& tiers, std::int64_t m) {
  for (const Block32Tier& tier : tiers) {
    if (m <= tier.max_m) return &tier;
  }
  return nullptr;
}

}  // namespace

Block32Config SelectBlock32(std::int64_t m, std::int64_t n, std::int64_t k) {
  const Block32Tiers tiers = TiersOf(kBlock32Entries, n, k, kBlock32Untuned);
  const Block32Tier* tier = FirstTier(tiers, m);
  return tier != nullptr ? tier->config : (tiers.end() - 1)->config;
}

std::optional<Block32Config> SelectBlock32Quantizing(std::int64_t m, std::int64_t n,
                                                     std::int64_t k) {
  const Block32Tier* tier = FirstTier(TiersOf(kEntries, n, k, kUntuned), m);
  if (tier == nullptr) return std::nullopt;
  return tier->config;
}

std::span<const Block32Entry> Block32QuantizingEntries() { return kEntries; }

}  // namespace lanewise::reference::gfx950
