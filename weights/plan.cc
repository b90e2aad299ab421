#include "weights/plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace lanewise {
namespace {

// A digit that may have been cut in two.
struct PlanDigit {
  std::int64_t size = 1;
  std::int64_t row = 0;     // how far one step moves along the row axis
  std::int64_t byte = 0;    // ... within the row
  std::int64_t memory = 0;  // ... in memory
  bool in_chunk = false;
};

// The region's digits, outermost in memory first.
std::vector<PlanDigit> DigitsInMemoryOrder(const Region& region) {
  std::vector<PlanDigit> digits;
  for (int i = 0; i < region.digits; ++i) {
    const Digit& digit = region.digit[region.memory_order[i]];
    if (digit.size == 1) continue;
    PlanDigit plan_digit;
    plan_digit.size = digit.size;
    (digit.axis == 0 ? plan_digit.row : plan_digit.byte) = digit.coordinate_stride;
    plan_digit.memory = digit.memory_stride;
    digits.push_back(plan_digit);
  }
  return digits;
}

// Marks the digits that make up a chunk, cutting one where 64 bytes fall inside it. Returns the
// chunk size.
int ChooseChunk(std::vector<PlanDigit>* digits) {
  std::int64_t chunk = 1;
  while (chunk < kMaxChunkBytes) {
    // The digit that continues the chunk along the row.
    const auto next = std::find_if(digits->begin(), digits->end(),
                                   [&](const PlanDigit& digit) { return digit.byte == chunk; });
    if (next == digits->end()) break;
    if (chunk * next->size <= kMaxChunkBytes) {
      next->in_chunk = true;
      chunk *= next->size;
      continue;
    }
    const std::int64_t part = std::gcd(kMaxChunkBytes / chunk, next->size);
    if (part == 1) break;
    PlanDigit inner = *next;
    inner.size = part;
    inner.in_chunk = true;
    next->size /= part;
    next->byte *= part;
    next->memory *= part;
    digits->insert(next + 1, inner);
    chunk *= part;
    break;
  }
  return static_cast<int>(chunk);
}

// Adds one digit's multiples to every offset so far.
void Expand(std::vector<ChunkMove>* moves, const PlanDigit& digit, std::int64_t count) {
  const std::vector<ChunkMove> before = *moves;
  for (std::int64_t i = 1; i < count; ++i) {
    for (ChunkMove move : before) {
      move.row += i * digit.row;
      move.byte += i * digit.byte;
      move.memory += i * digit.memory;
      moves->push_back(move);
    }
  }
}

void PlanChunk(const std::vector<PlanDigit>& digits, RegionPlan* plan) {
  std::vector<ChunkMove> bytes = {{}};
  for (const PlanDigit& digit : digits) {
    if (digit.in_chunk) Expand(&bytes, digit, digit.size);
  }
  std::sort(bytes.begin(), bytes.end(),
            [](const ChunkMove& a, const ChunkMove& b) { return a.memory < b.memory; });
  // The longest run that every stretch of contiguous memory is a multiple of.
  const int chunk = plan->chunk_bytes;
  std::int64_t piece = chunk;
  int run = 1;
  for (int i = 1; i <= chunk; ++i) {
    if (i < chunk && bytes[i].memory == bytes[i - 1].memory + 1) {
      ++run;
      continue;
    }
    piece = std::gcd(piece, run);
    run = 1;
  }
  plan->piece_bytes = static_cast<int>(piece);
  plan->identity = true;
  for (int i = 0; i < chunk; ++i) {
    plan->source_of[i] = static_cast<std::uint8_t>(bytes[i].byte);
    plan->identity = plan->identity && bytes[i].byte == i;
    if (i % piece == 0) plan->pieces.push_back(bytes[i].memory);
  }
}

// Splits source_of into bytes within 16-byte blocks, then words. Possible where the four bytes of
// every permuted word come from one block.
void PlanTwoSteps(RegionPlan* plan) {
  const int chunk = plan->chunk_bytes;
  if (chunk % 16 != 0) return;
  std::array<int, kMaxChunkBytes / 16> words_taken = {};
  for (int word = 0; word < chunk / 4; ++word) {
    const int block = plan->source_of[4 * word] / 16;
    for (int i = 1; i < 4; ++i) {
      if (plan->source_of[4 * word + i] / 16 != block) return;
    }
    // This word is the next one that the byte step prepares in its block.
    const int prepared = 4 * block + words_taken[block]++;
    plan->word_of[word] = prepared;
    plan->inverse_word_of[prepared] = word;
    for (int i = 0; i < 4; ++i) {
      const int in_block = plan->source_of[4 * word + i] % 16;
      plan->byte_in_block[4 * prepared + i] = static_cast<std::uint8_t>(in_block);
      plan->inverse_byte_in_block[16 * block + in_block] =
          static_cast<std::uint8_t>(4 * prepared % 16 + i);
    }
  }
  plan->two_step = true;
}

}  // namespace

RegionPlan PlanRegion(const Region& region, std::int64_t target_block_bytes) {
  RegionPlan plan;
  plan.byte_begin = region.axis_begin;
  plan.memory_begin = region.memory_base;
  std::vector<PlanDigit> digits = DigitsInMemoryOrder(region);
  plan.chunk_bytes = ChooseChunk(&digits);
  PlanChunk(digits, &plan);
  PlanTwoSteps(&plan);

  // A block takes the innermost digits: all that a chunk needs, then as many as fit the target.
  std::size_t inner = digits.size();
  plan.block_bytes = 1;
  plan.moves = {{}};
  std::size_t chunk_digits = 0;
  for (const PlanDigit& digit : digits) chunk_digits += digit.in_chunk;
  while (inner > 0) {
    PlanDigit& digit = digits[inner - 1];
    std::int64_t count = digit.size;
    const bool contiguous = digit.memory == plan.block_bytes;
    if (chunk_digits == 0) {
      if (!contiguous) break;  // a leading index: a remainder lies between its values
      // The largest divisor of the digit that keeps the block within its target.
      const std::int64_t room = std::max<std::int64_t>(1, target_block_bytes / plan.block_bytes);
      count = std::min(count, room);
      while (digit.size % count != 0) --count;
    }
    if (digit.in_chunk) {
      --chunk_digits;
    } else {
      Expand(&plan.moves, digit, count);
    }
    plan.block_bytes *= count;
    if (count < digit.size) {
      digit.size /= count;
      digit.row *= count;
      digit.byte *= count;
      digit.memory *= count;
      break;
    }
    --inner;
  }
  std::sort(plan.moves.begin(), plan.moves.end(), [](const ChunkMove& a, const ChunkMove& b) {
    return std::pair(a.row, a.byte) < std::pair(b.row, b.byte);
  });
  for (ChunkMove& move : plan.moves) {
    if (plan.rows.empty() || plan.rows.back() != move.row) plan.rows.push_back(move.row);
    move.row = std::ssize(plan.rows) - 1;
  }
  for (std::size_t i = 0; i < inner; ++i) {
    plan.loops.push_back({digits[i].size, digits[i].row, digits[i].byte, digits[i].memory});
    plan.blocks *= digits[i].size;
  }
  return plan;
}

}  // namespace lanewise
