#include "emulator/isa/matrix/matrix_operands.h"

#include <cstring>

namespace lanewise::emulator {
namespace {

constexpr int kMaxWords = 8;  // of one operand of one lane

// The registers of one lane, or the operand's constant in all of them.
void LoadLane(const Wave& wave, const Operand& operand, int lane, int words, uint32_t* out) {
  for (int r = 0; r < words; ++r) {
    out[r] = operand.is_vector() ? wave.vector[operand.index + r][lane] : wave.Read32(operand);
  }
}

// Element (row, k) of a lane's slot; `outer` is the row of A or the column of B.
struct Slot {
  int block;
  int outer;
  int first_k;
};
Slot SlotOf(int lane, int outer_size, int blocks, int per_lane) {
  const int group = lane / outer_size;
  return {group % blocks, lane % outer_size, group / blocks * per_lane};
}

struct Place {
  int block;
  int row;
  int column;
};
Place PlaceOf32(const MatrixShape& shape, int lane, int r) {
  switch (shape.m) {
    case 16:
      return {r / 4, 4 * (lane / 16) + r % 4, lane % 16};
    case 32:
      return {r / 16, 8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4, lane % 32};
    default:
      return {lane / 4, r, lane % 4};
  }
}
Place PlaceOf64(const MatrixShape& shape, int lane, int r) {
  if (shape.m == 16) return {0, 4 * r + lane / 16, lane % 16};
  return {lane % 16 / 4, lane / 16, lane % 4};
}

int Elements(const MatrixShape& shape) { return shape.blocks * shape.m * shape.n; }
int PerLane(const MatrixShape& shape) { return Elements(shape) / kLanes; }
int IndexOf(const MatrixShape& shape, const Place& place) {
  return (place.block * shape.m + place.row) * shape.n + place.column;
}

uint8_t NarrowElement(const uint32_t* words, int bits, int index) {
  const int bit = bits * index;
  const uint64_t pair =
      words[bit / 32] | static_cast<uint64_t>(bit / 32 + 1 < kMaxWords ? words[bit / 32 + 1] : 0)
                            << 32;
  return static_cast<uint8_t>((pair >> (bit % 32)) & ((1u << bits) - 1));
}

// Calls store(outer, k, code) for all elements of a narrow operand.
template <typename Store>
void ForNarrow(const Wave& wave, const Operand& operand, int outer_size, int k_size, int bits,
               Store store) {
  const int groups = kLanes / outer_size;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t words[kMaxWords] = {};
    LoadLane(wave, operand, lane, bits, words);  // 32 elements: as many words as bits
    const int group = lane / outer_size;
    for (int e = 0; e < 32; ++e) {
      const int k = bits == 8 ? 16 * (group + groups * (e / 16)) + e % 16 : 32 * group + e;
      if (k < k_size) store(lane % outer_size, k, NarrowElement(words, bits, e));
    }
  }
}

// A lane's elements are consecutive in k, so they go down a column of B.
template <typename Element>
std::vector<uint8_t> GatherColumns(const Wave& wave, const Operand& b, const MatrixShape& shape,
                                   const LaneSource& source) {
  const int per_lane = shape.k * shape.n * shape.blocks / kLanes;
  const int words = per_lane * static_cast<int>(sizeof(Element)) / 4;
  std::vector<uint8_t> result(static_cast<size_t>(shape.blocks) * shape.k * shape.n *
                              sizeof(Element));
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t loaded[kMaxWords];
    LoadLane(wave, b, source.lane[lane], words, loaded);
    Element elements[kMaxWords * 4];
    std::memcpy(elements, loaded, static_cast<size_t>(words) * 4);
    const Slot slot = SlotOf(lane, shape.n, shape.blocks, per_lane);
    uint8_t* at =
        &result[static_cast<size_t>((slot.block * shape.k + slot.first_k) * shape.n + slot.outer) *
                sizeof(Element)];
    for (int e = 0; e < per_lane; ++e) {
      std::memcpy(at, &elements[e], sizeof(Element));
      at += static_cast<size_t>(shape.n) * sizeof(Element);
    }
  }
  return result;
}

uint8_t ScaleByte(const Wave& wave, const Operand& scale, int lane, int byte) {
  const uint32_t word = scale.is_vector() ? wave.vector[scale.index][lane] : wave.Read32(scale);
  return static_cast<uint8_t>(word >> (8 * byte));
}

}  // namespace

LaneSource BroadcastA(const MatrixShape& shape, int cbsz, int abid) {
  LaneSource source;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / shape.m;
    const int block = group % shape.blocks;
    const int in_group = (1 << cbsz) - 1;
    const int chosen = cbsz > 0 ? (block & ~in_group) + (abid & in_group) : block;
    source.lane[lane] = static_cast<int8_t>(lane + shape.m * (chosen - block));
  }
  return source;
}

LaneSource BroadcastB(int blgp) {
  LaneSource source;
  for (int lane = 0; lane < kLanes; ++lane) {
    int from = lane;
    if (blgp == 1) from = lane % 32;
    if (blgp == 2) from = 32 + lane % 32;
    if (blgp == 3) from = (lane + 16) % kLanes;
    if (blgp >= 4) from = 16 * (blgp - 4) + lane % 16;
    source.lane[lane] = static_cast<int8_t>(from);
  }
  return source;
}

std::vector<uint8_t> GatherA(const Wave& wave, const Operand& a, const MatrixShape& shape,
                             int bytes, const LaneSource& source) {
  const int per_lane = shape.k * shape.m * shape.blocks / kLanes;
  std::vector<uint8_t> result(static_cast<size_t>(shape.blocks) * shape.m * shape.k * bytes);
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t words[kMaxWords];
    LoadLane(wave, a, source.lane[lane], per_lane * bytes / 4, words);
    const Slot slot = SlotOf(lane, shape.m, shape.blocks, per_lane);
    const int at = (slot.block * shape.m + slot.outer) * shape.k + slot.first_k;
    std::memcpy(&result[static_cast<size_t>(at) * bytes], words, per_lane * bytes);
  }
  return result;
}

std::vector<uint8_t> GatherB(const Wave& wave, const Operand& b, const MatrixShape& shape,
                             int bytes, const LaneSource& source) {
  switch (bytes) {
    case 1:
      return GatherColumns<uint8_t>(wave, b, shape, source);
    case 2:
      return GatherColumns<uint16_t>(wave, b, shape, source);
    case 4:
      return GatherColumns<uint32_t>(wave, b, shape, source);
    default:
      return GatherColumns<uint64_t>(wave, b, shape, source);
  }
}

std::vector<uint8_t> GatherSparseA(const Wave& wave, const Operand& a, const MatrixShape& shape,
                                   int bytes, const Operand& index, int first_bit) {
  const int per_lane = shape.k * shape.m / kLanes / 2;
  std::vector<uint8_t> result(static_cast<size_t>(shape.m) * shape.k * bytes);
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t words[kMaxWords];
    LoadLane(wave, a, lane, per_lane * bytes / 4, words);
    uint32_t positions;
    LoadLane(wave, index, lane, 1, &positions);
    const int first_k = lane / shape.m * 2 * per_lane;
    for (int e = 0; e < per_lane; ++e) {
      const int within = static_cast<int>((positions >> (first_bit + 2 * e)) & 3);
      const int at = lane % shape.m * shape.k + first_k + 4 * (e / 2) + within;
      std::memcpy(&result[static_cast<size_t>(at) * bytes],
                  reinterpret_cast<const uint8_t*>(words) + e * bytes, bytes);
    }
  }
  return result;
}

std::vector<uint32_t> GatherC32(const Wave& wave, const Operand& c, const MatrixShape& shape) {
  if (!c.is_vector()) return std::vector<uint32_t>(Elements(shape), wave.Read32(c));
  std::vector<uint32_t> result(Elements(shape));
  for (int r = 0; r < PerLane(shape); ++r) {
    for (int lane = 0; lane < kLanes; ++lane) {
      result[IndexOf(shape, PlaceOf32(shape, lane, r))] = wave.vector[c.index + r][lane];
    }
  }
  return result;
}

std::vector<uint64_t> GatherC64(const Wave& wave, const Operand& c, const MatrixShape& shape) {
  if (!c.is_vector()) return std::vector<uint64_t>(Elements(shape), wave.Read64(c));
  std::vector<uint64_t> result(Elements(shape));
  for (int r = 0; r < PerLane(shape); ++r) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t high = wave.vector[c.index + 2 * r + 1][lane];
      result[IndexOf(shape, PlaceOf64(shape, lane, r))] =
          high << 32 | wave.vector[c.index + 2 * r][lane];
    }
  }
  return result;
}

void ScatterD32(Wave& wave, const Operand& d, const MatrixShape& shape, const uint32_t* values) {
  for (int r = 0; r < PerLane(shape); ++r) {
    for (int lane = 0; lane < kLanes; ++lane) {
      wave.vector[d.index + r][lane] = values[IndexOf(shape, PlaceOf32(shape, lane, r))];
    }
  }
}

void ScatterD64(Wave& wave, const Operand& d, const MatrixShape& shape, const uint64_t* values) {
  for (int r = 0; r < PerLane(shape); ++r) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t value = values[IndexOf(shape, PlaceOf64(shape, lane, r))];
      wave.vector[d.index + 2 * r][lane] = static_cast<uint32_t>(value);
      wave.vector[d.index + 2 * r + 1][lane] = static_cast<uint32_t>(value >> 32);
    }
  }
}

std::vector<uint8_t> GatherNarrowA(const Wave& wave, const Operand& a, const MatrixShape& shape,
                                   int bits) {
  std::vector<uint8_t> result(static_cast<size_t>(shape.m) * shape.k);
  ForNarrow(wave, a, shape.m, shape.k, bits,
            [&](int i, int k, uint8_t code) { result[i * shape.k + k] = code; });
  return result;
}

std::vector<uint8_t> GatherNarrowB(const Wave& wave, const Operand& b, const MatrixShape& shape,
                                   int bits) {
  std::vector<uint8_t> result(static_cast<size_t>(shape.k) * shape.n);
  ForNarrow(wave, b, shape.n, shape.k, bits,
            [&](int j, int k, uint8_t code) { result[k * shape.n + j] = code; });
  return result;
}

std::vector<uint8_t> GatherScalesA(const Wave& wave, const Operand& scale, const MatrixShape& shape,
                                   int byte) {
  const int blocks = shape.k / 32;
  std::vector<uint8_t> result(static_cast<size_t>(shape.m) * blocks);
  for (int lane = 0; lane < shape.m * blocks; ++lane) {
    result[lane % shape.m * blocks + lane / shape.m] = ScaleByte(wave, scale, lane, byte);
  }
  return result;
}

std::vector<uint8_t> GatherScalesB(const Wave& wave, const Operand& scale, const MatrixShape& shape,
                                   int byte) {
  const int blocks = shape.k / 32;
  std::vector<uint8_t> result(static_cast<size_t>(blocks) * shape.n);
  for (int lane = 0; lane < shape.n * blocks; ++lane) {
    result[lane] = ScaleByte(wave, scale, lane, byte);
  }
  return result;
}

}  // namespace lanewise::emulator
