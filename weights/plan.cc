#include "weights/plan.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>

namespace lanewise {
namespace {

constexpr std::int64_t kLineBytes = 64;

// A factor of a digit of the layout: 2, or an odd number.
struct PlanFactor {
  std::int64_t size = 1;
  std::int64_t row = 0;     // how far one step moves along the row axis
  std::int64_t byte = 0;    // ... within the row
  std::int64_t memory = 0;  // ... in memory
  int digit = 0;            // which it is of, counted from the outermost in memory
  bool in_tile = false;
};

// The region's digits cut into factors, outermost in memory first; of one digit the odd factor is
// the outermost.
std::vector<PlanFactor> FactorsInMemoryOrder(const Region& region) {
  std::vector<PlanFactor> factors;
  for (int i = 0; i < region.digits; ++i) {
    const Digit& digit = region.digit[region.memory_order[i]];
    if (digit.size <= 1) continue;
    const int bits = std::countr_zero(static_cast<std::uint64_t>(digit.size));
    const auto add = [&](std::int64_t size, int shift) {
      PlanFactor factor;
      factor.size = size;
      (digit.axis == 0 ? factor.row : factor.byte) = digit.coordinate_stride << shift;
      factor.memory = digit.memory_stride << shift;
      factor.digit = i;
      factors.push_back(factor);
    };
    if (digit.size >> bits > 1) add(digit.size >> bits, bits);
    for (int bit = bits - 1; bit >= 0; --bit) add(2, bit);
  }
  return factors;
}

// The factors that number the bytes of a register of 2^bits bytes, by position: as it is loaded
// from a row, and as it is stored to memory.
struct RegisterBits {
  std::vector<int> source, line;
};
std::optional<RegisterBits> FindRegisterBits(const std::vector<PlanFactor>& factors, int bits,
                                             std::int64_t lead_bytes) {
  RegisterBits found;
  for (int bit = 0; bit < bits; ++bit) {
    const std::int64_t stride = std::int64_t{1} << bit;
    for (int i = 0; i < static_cast<int>(std::ssize(factors)); ++i) {
      const PlanFactor& factor = factors[i];
      if (factor.size != 2 || (lead_bytes > 0 && factor.memory >= lead_bytes)) continue;
      if (factor.byte == stride) found.source.push_back(i);
      if (factor.memory == stride) found.line.push_back(i);
    }
    if (std::ssize(found.source) != bit + 1 || std::ssize(found.line) != bit + 1) {
      return std::nullopt;
    }
  }
  const auto exchanges = std::count_if(found.line.begin(), found.line.end(), [&](int i) {
    return std::find(found.source.begin(), found.source.end(), i) == found.source.end();
  });
  if (exchanges > MaxExchanges(bits)) return std::nullopt;
  return found;
}

// Adds one factor's multiples to every place so far.
void Expand(const PlanFactor& factor, std::int64_t count, std::vector<TilePlace>* places) {
  const std::vector<TilePlace> before = *places;
  for (std::int64_t i = 1; i < count; ++i) {
    for (TilePlace place : before) {
      place.row += i * factor.row;
      place.byte += i * factor.byte;
      place.memory += i * factor.memory;
      places->push_back(place);
    }
  }
}

// The factor of 2 that moves by `stride` along what is written.
std::vector<PlanFactor>::iterator FactorOfStride(std::vector<PlanFactor>& factors,
                                                 const PlanOptions& options, std::int64_t stride) {
  return std::find_if(factors.begin(), factors.end(), [&](const PlanFactor& factor) {
    const bool follows = options.to_rows ? factor.byte == stride : factor.memory == stride;
    return factor.size == 2 && follows &&
           (options.lead_bytes == 0 || factor.memory < options.lead_bytes);
  });
}

// Row positions stay in rows here; NumberRows makes indices of them.
void PlanRegisters(const RegisterBits& bits, const PlanOptions& options,
                   std::vector<PlanFactor>* factors, RegionPlan* plan) {
  BitNetworkPlan network = PlanBitNetwork(bits.source, bits.line);
  for (const int i : bits.source) (*factors)[i].in_tile = true;
  for (const int i : bits.line) (*factors)[i].in_tile = true;
  plan->loads = {{}};
  plan->stores = {0};
  // Neighbouring lines of what is written join the tile: of memory, so that stores follow each
  // other, and of rows, since memory takes two of a row far faster than one of each row in turn.
  const int exchanges = static_cast<int>(network.incoming.size());
  const int sides = SideBits(exchanges, options.to_rows, 1 << bits.line.size());
  std::vector<PlanFactor*> beside;
  for (std::int64_t stride = std::int64_t{1} << bits.line.size(); std::ssize(beside) < sides;
       stride *= 2) {
    const auto next = FactorOfStride(*factors, options, stride);
    if (next == factors->end()) break;
    if (!next->in_tile) beside.push_back(&*next);  // what the network moves is there already
  }
  if (std::ssize(beside) < sides) beside.clear();
  plan->side_bits = static_cast<int>(beside.size());
  for (PlanFactor* factor : beside) {
    factor->in_tile = true;
    Expand(*factor, 2, &plan->loads);
    for (std::size_t i = 0, n = plan->stores.size(); i < n; ++i) {
      plan->stores.push_back(plan->stores[i] + factor->memory);
    }
  }
  for (std::size_t k = 0; k < network.incoming.size(); ++k) {
    Expand((*factors)[network.incoming[k]], 2, &plan->loads);
    const std::int64_t stride = (*factors)[network.evicted[k]].memory;
    for (std::size_t i = 0, n = plan->stores.size(); i < n; ++i) {
      plan->stores.push_back(plan->stores[i] + stride);
    }
  }
  for (TilePlace& load : plan->loads) load.memory = 0;
  plan->vector_bytes = 1 << network.network.vector_bits;
  plan->whole_lines = true;
  for (std::int64_t stride = plan->vector_bytes; stride < kLineBytes; stride *= 2) {
    const auto factor = FactorOfStride(*factors, options, stride);
    plan->whole_lines = plan->whole_lines && factor != factors->end() && factor->in_tile;
  }
  plan->network = std::move(network.network);
}

void PlanRun(std::int64_t lead_bytes, std::vector<PlanFactor>* factors, RegionPlan* plan) {
  std::int64_t run = 1;
  for (bool grew = true; grew;) {
    grew = false;
    for (PlanFactor& factor : *factors) {
      if (lead_bytes > 0 && factor.memory >= lead_bytes) continue;
      if (factor.byte != run || factor.memory != run) continue;
      factor.in_tile = grew = true;
      run *= factor.size;
    }
  }
  plan->run_bytes = run;
  plan->loads = {{}};
  plan->stores = {0};
}

// How many of the factors, from the outermost in memory, are the leads'.
std::size_t LeadFactors(const std::vector<PlanFactor>& factors, const PlanOptions& options) {
  std::size_t count = 0;
  for (const PlanFactor& factor : factors) {
    if (factor.in_tile) break;
    if (options.lead_bytes > 0 ? factor.memory < options.lead_bytes
                               : factor.digit != factors[0].digit ||
                                     (count > 0 && factor.memory < options.target_block_bytes)) {
      break;
    }
    ++count;
  }
  return count;
}

// Replaces the rows of loads and tiles by indices into plan->rows. What a block touches of the row
// axis is every sum of a tile's row and a load's, and factors of one axis nest, so indices add up
// as rows do.
void NumberRows(RegionPlan* plan) {
  for (const TilePlace& tile : plan->tiles) {
    for (const TilePlace& load : plan->loads) plan->rows.push_back(tile.row + load.row);
  }
  std::sort(plan->rows.begin(), plan->rows.end());
  plan->rows.erase(std::unique(plan->rows.begin(), plan->rows.end()), plan->rows.end());
  const auto number = [plan](TilePlace& place) {
    place.row =
        std::lower_bound(plan->rows.begin(), plan->rows.end(), place.row) - plan->rows.begin();
  };
  for (TilePlace& tile : plan->tiles) number(tile);
  for (TilePlace& load : plan->loads) number(load);
}

// Joins loops that run through evenly spaced places together.
void JoinLoops(std::vector<RegionPlan::Loop>* loops, std::size_t keep_apart) {
  for (std::size_t i = loops->size(); i-- > 1;) {
    if (i == keep_apart) continue;
    RegionPlan::Loop& outer = (*loops)[i - 1];
    const RegionPlan::Loop inner = (*loops)[i];
    if (outer.row != inner.row * inner.count || outer.byte != inner.byte * inner.count ||
        outer.memory != inner.memory * inner.count) {
      continue;
    }
    outer = {outer.count * inner.count, inner.row, inner.byte, inner.memory};
    loops->erase(loops->begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

RegionPlan PlanRegion(const Region& region, const PlanOptions& options) {
  RegionPlan plan;
  plan.byte_begin = region.axis_begin;
  plan.memory_begin = region.memory_base;
  std::vector<PlanFactor> factors = FactorsInMemoryOrder(region);
  std::optional<RegisterBits> bits;
  for (int n = options.vector_bytes == 0 ? 0 : std::countr_zero<unsigned>(options.vector_bytes);
       n >= 4 && !bits; --n) {
    bits = FindRegisterBits(factors, n, options.lead_bytes);
  }
  if (bits) {
    PlanRegisters(*bits, options, &factors, &plan);
  } else {
    PlanRun(options.lead_bytes, &factors, &plan);
  }

  const std::size_t leads = LeadFactors(factors, options);
  plan.tiles = {{}};
  plan.block_bytes =
      std::ssize(plan.loads) * std::max<std::int64_t>(plan.vector_bytes, plan.run_bytes);
  std::size_t inner = factors.size();
  for (; inner > leads; --inner) {
    PlanFactor& factor = factors[inner - 1];
    if (factor.in_tile) continue;
    std::int64_t count = std::min(
        factor.size, std::max<std::int64_t>(1, options.target_block_bytes / plan.block_bytes));
    while (factor.size % count != 0) --count;
    Expand(factor, count, &plan.tiles);
    plan.block_bytes *= count;
    if (count == factor.size) continue;
    factor.size /= count;
    factor.row *= count;
    factor.byte *= count;
    factor.memory *= count;
    break;
  }
  // Tiles of narrow registers take few of a block's rows, and two lines of a row at a time are what
  // memory takes fastest, to read as to write.
  const bool two_lines = plan.vector_bytes > 0 && plan.vector_bytes < kLineBytes &&
                         std::any_of(
                             plan.loads.begin(), plan.loads.end(),
                             [](const TilePlace& load) { return load.row != 0; });
  std::sort(plan.tiles.begin(), plan.tiles.end(), [&](const TilePlace& a, const TilePlace& b) {
    if (two_lines) {
      const std::int64_t a_lines = a.byte / (2 * kLineBytes);
      const std::int64_t b_lines = b.byte / (2 * kLineBytes);
      if (a_lines != b_lines) return a_lines < b_lines;
      if (a.row != b.row) return a.row < b.row;
      if (a.byte != b.byte) return a.byte < b.byte;
    }
    if (options.to_rows && a.row != b.row) return a.row < b.row;
    if (options.to_rows && a.byte != b.byte) return a.byte < b.byte;
    return a.memory < b.memory;
  });

  const std::int64_t piece = std::max<std::int64_t>(plan.vector_bytes, plan.run_bytes);
  std::int64_t span = 0;
  for (const TilePlace& tile : plan.tiles) {
    for (std::size_t i = 0; i < plan.loads.size(); ++i) {
      plan.byte_end = std::max(plan.byte_end, tile.byte + plan.loads[i].byte + piece);
      span = std::max(span, tile.memory + plan.stores[i] + piece);
    }
  }
  plan.contiguous = span == plan.block_bytes;
  NumberRows(&plan);

  for (std::size_t i = 0; i < inner; ++i) {
    const PlanFactor& factor = factors[i];
    if (factor.in_tile) continue;
    plan.loops.push_back({factor.size, factor.row, factor.byte, factor.memory});
    plan.blocks *= factor.size;
    if (i < leads) plan.leads *= factor.size;
  }
  JoinLoops(&plan.loops, leads);
  return plan;
}

}  // namespace lanewise
