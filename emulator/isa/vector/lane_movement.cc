#include "emulator/isa/vector/lane_movement.h"

namespace lanewise::emulator {
namespace {

bool IsActive(uint64_t exec, int lane) { return ((exec >> lane) & 1) != 0; }

int LaneOf(uint32_t address, uint32_t offset) {
  return static_cast<int>(((address + offset) >> 2) & (kLanes - 1));
}

}  // namespace

LaneWords BackwardPermute(const uint32_t address[kLanes], const uint32_t values[kLanes],
                          uint32_t offset, uint64_t exec) {
  LaneWords result;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int from = LaneOf(address[lane], offset);
    result[lane] = IsActive(exec, from) ? values[from] : 0;
  }
  return result;
}

LaneWords ForwardPermute(const uint32_t address[kLanes], const uint32_t values[kLanes],
                         uint32_t offset, uint64_t exec) {
  LaneWords result = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    if (IsActive(exec, lane)) result[LaneOf(address[lane], offset)] = values[lane];
  }
  return result;
}

int SwizzleSource(uint32_t offset, int lane) {
  const auto l = static_cast<uint32_t>(lane);
  if ((offset & 0x8000u) == 0) {
    const uint32_t within =
        (((l & 31) & (offset & 31)) | ((offset >> 5) & 31)) ^ ((offset >> 10) & 31);
    return static_cast<int>((l & 32) | within);
  }
  if ((offset & 0x4000u) != 0) {
    const uint32_t amount = (offset >> 5) & 31;
    const uint32_t from = (offset & 0x400u) != 0 ? l - amount : l + amount;
    return static_cast<int>((l & 32) | (from & 31));
  }
  return static_cast<int>((l & ~3u) | ((offset >> (2 * (l & 3))) & 3));
}

LaneWords Swizzle(const uint32_t values[kLanes], uint32_t offset, uint64_t exec) {
  LaneWords result;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int from = SwizzleSource(offset, lane);
    result[lane] = IsActive(exec, from) ? values[from] : 0;
  }
  return result;
}

}  // namespace lanewise::emulator
