#include "emulator/isa/memory/memory_access.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "emulator/memory/apertures.h"

namespace lanewise::emulator {
namespace {

const char* KindName(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "read";
    case AccessKind::kWrite:
      return "write";
    case AccessKind::kAtomic:
      return "atomic";
  }
  return "?";
}

std::string Hex(uint64_t value) { return absl::StrCat("0x", absl::Hex(value)); }

std::string AccessText(AccessKind kind, uint32_t bytes, std::string_view space, uint64_t address,
                       int lane) {
  return absl::StrCat(std::string(space), " ", KindName(kind), " of ", bytes, " bytes at ",
                      Hex(address), " by lane ", lane);
}

uint8_t* ResolveGlobal(Wave& wave, uint64_t address, uint32_t bytes, AccessKind kind, int lane) {
  WorkgroupContext& context = *wave.context;
  const Allocation* recent = context.recent;
  if (recent == nullptr || address < recent->base || recent->size < bytes ||
      address - recent->base > recent->size - bytes) {
    recent = context.memory->Find(address, bytes);
    if (recent == nullptr) {
      wave.Fail(
          absl::StrCat(AccessText(kind, bytes, "global", address, lane),
                       " is outside of every allocation: ", context.memory->Describe(address)));
      return nullptr;
    }
    context.recent = recent;
  }
  if ((context.checks & kCheckAlignment) != 0) {
    const uint32_t natural = std::min(bytes, 4u);
    if ((address & (natural - 1)) != 0) {
      wave.Fail(absl::StrCat(AccessText(kind, bytes, "global", address, lane),
                             " is misaligned: no multiple of ", natural));
      return nullptr;
    }
  }
  return reinterpret_cast<uint8_t*>(address);
}

// Another wave has touched this byte since the last barrier, and not both atomically.
bool Races(const LdsAccess& before, uint32_t epoch, int wave, bool atomic) {
  return before.epoch == epoch && (before.several || before.wave != wave) &&
         !(before.atomic && atomic);
}

void Record(LdsAccess& entry, uint32_t epoch, int wave, bool atomic) {
  if (entry.epoch != epoch) {
    entry = LdsAccess{epoch, static_cast<uint8_t>(wave), false, atomic};
    return;
  }
  entry.several = entry.several || entry.wave != wave;
  entry.atomic = entry.atomic && atomic;
}

std::string RaceText(AccessKind kind, uint32_t bytes, uint64_t address, int lane, int wave,
                     const LdsAccess& before, bool before_wrote) {
  return absl::StrCat(AccessText(kind, bytes, "LDS", address, lane), " of wave ", wave,
                      " races with a ", before_wrote ? "write" : "read", " of wave ",
                      static_cast<int>(before.wave), before.several ? " and others" : "",
                      ": no barrier between them");
}

bool CheckLds(Wave& wave, uint32_t address, uint32_t bytes, AccessKind kind, int lane,
              const uint8_t* data) {
  WorkgroupContext& context = *wave.context;
  LdsShadow& shadow = context.lds_shadow;
  const bool races = (context.checks & kCheckRaces) != 0;
  const bool uninitialised = (context.checks & kCheckUninitialised) != 0;
  const bool atomic = kind == AccessKind::kAtomic;
  const bool reads = kind != AccessKind::kWrite;
  const bool writes = kind != AccessKind::kRead;
  const int id = wave.id_in_group;
  if (reads && (context.checks & kCheckWaits) != 0) {
    for (const LdsShadow::Arriving& arriving : shadow.arriving) {
      if (address + bytes <= arriving.begin || address >= arriving.end) continue;
      const WaveShadow& loader = context.shadows[static_cast<size_t>(arriving.wave)];
      if (loader.vm_completed >= arriving.vm_sequence) continue;
      wave.Fail(absl::StrCat(AccessText(kind, bytes, "LDS", address, lane), " comes before wave ",
                             arriving.wave,
                             " awaited (s_waitcnt vmcnt) the global-to-LDS load of these bytes"));
      return false;
    }
  }
  for (uint32_t i = address; i < address + bytes; ++i) {
    LdsAccess& write = shadow.writes[i];
    if (reads && uninitialised && write.epoch == 0 && !atomic) {
      context.ShadowOf(wave)->unwritten_read |= 1u << (i - address);
    } else if (reads && uninitialised && write.epoch == 0) {
      wave.Fail(absl::StrCat(AccessText(kind, bytes, "LDS", address, lane), " finds byte ", i,
                             ", which was never written"));
      return false;
    }
    // Whoever comes first, the byte is the same.
    const bool same = data != nullptr && data[i - address] == context.lds[i];
    if (races && !same && Races(write, shadow.epoch, id, atomic)) {
      wave.Fail(RaceText(kind, bytes, address, lane, id, write, true));
      return false;
    }
    if (writes) {
      if (races && !same && Races(shadow.reads[i], shadow.epoch, id, atomic)) {
        wave.Fail(RaceText(kind, bytes, address, lane, id, shadow.reads[i], false));
        return false;
      }
      Record(write, shadow.epoch, id, atomic);
    } else {
      Record(shadow.reads[i], shadow.epoch, id, false);
    }
  }
  return true;
}

uint8_t* ResolveLds(Wave& wave, uint64_t address, uint32_t bytes, AccessKind kind, int lane,
                    const uint8_t* data) {
  WorkgroupContext& context = *wave.context;
  const uint64_t size = context.lds.size();
  if (address > size || bytes > size - address) {
    wave.Fail(absl::StrCat(AccessText(kind, bytes, "LDS", address, lane),
                           " is outside of the workgroup's ", size, " bytes"));
    return nullptr;
  }
  if (context.checking()) {
    if ((context.checks & kCheckAlignment) != 0) {
      const uint32_t natural = std::min(std::bit_ceil(bytes), 4u);
      if ((address & (natural - 1)) != 0) {
        wave.Fail(absl::StrCat(AccessText(kind, bytes, "LDS", address, lane),
                               " is misaligned: no multiple of ", natural));
        return nullptr;
      }
    }
    if (!CheckLds(wave, static_cast<uint32_t>(address), bytes, kind, lane, data)) {
      return nullptr;
    }
  }
  return context.lds.data() + address;
}

uint8_t* ResolveScratch(Wave& wave, uint64_t address, uint32_t bytes, AccessKind kind, int lane) {
  WorkgroupContext& context = *wave.context;
  if (address > context.private_bytes || bytes > context.private_bytes - address) {
    wave.Fail(absl::StrCat(AccessText(kind, bytes, "scratch", address, lane),
                           " is outside of the lane's ", context.private_bytes, " bytes"));
    return nullptr;
  }
  std::vector<uint8_t>& memory = context.scratch[static_cast<size_t>(wave.id_in_group)];
  return memory.data() + static_cast<uint64_t>(lane) * context.private_bytes + address;
}

void FlatAddresses(const Wave& wave, const Instruction& inst, LaneAddresses& result) {
  const Operand& vector = inst.src[0];
  const Operand& scalar = inst.src[2];
  const auto offset = static_cast<uint64_t>(static_cast<int64_t>(inst.mem.offset));
  switch (inst.mem.segment) {
    case MemoryFields::Segment::kScratch: {
      const uint32_t base =
          static_cast<uint32_t>(offset) + (scalar.is_scalar() ? wave.Read32(scalar) : 0u);
      for (int l = 0; l < kLanes; ++l) {
        result.address[l] = base + (vector.is_vector() ? wave.vector[vector.index][l] : 0u);
        result.space[l] = Space::kScratch;
      }
      return;
    }
    case MemoryFields::Segment::kGlobal: {
      const bool has_base = scalar.is_scalar();
      const uint64_t base = offset + (has_base ? wave.Read64(scalar) : 0);
      for (int l = 0; l < kLanes; ++l) {
        const uint64_t low = wave.vector[vector.index][l];
        const uint64_t high = has_base ? 0 : wave.vector[vector.index + 1][l];
        result.address[l] = base + (high << 32 | low);
        result.space[l] = Space::kGlobal;
      }
      return;
    }
    case MemoryFields::Segment::kFlat:
      break;
  }
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t low = wave.vector[vector.index][l];
    const uint64_t high = wave.vector[vector.index + 1][l];
    const uint64_t address = (high << 32 | low) + offset;
    const auto aperture = static_cast<uint32_t>(address >> 32);
    result.space[l] = aperture == kSharedAperture    ? Space::kLds
                      : aperture == kPrivateAperture ? Space::kScratch
                                                     : Space::kGlobal;
    result.address[l] = result.space[l] == Space::kGlobal ? address : address & 0xffffffffu;
  }
}

// The resource's words, as the ISA manual's "buffer resource descriptor" has them. Modelled: raw
// buffers (stride 0, num_records in bytes) and structured ones (num_records in elements), linear.
void BufferAddresses(Wave& wave, const Instruction& inst, uint32_t bytes, LaneAddresses& result) {
  const Operand& vector = inst.src[0];
  const int resource = inst.src[2].index;
  const uint32_t word1 = wave.scalar[resource + 1];
  const uint32_t records = wave.scalar[resource + 2];
  const uint64_t base = static_cast<uint64_t>(word1 & 0xffffu) << 32 | wave.scalar[resource];
  const uint32_t stride = (word1 >> 16) & 0x3fffu;
  if ((word1 >> 31) != 0 || ((wave.scalar[resource + 3] >> 23) & 1) != 0) {
    wave.Fail("the buffer resource is swizzled or adds the lane's number, which is not modelled");
    return;
  }
  const uint32_t scalar_offset = wave.Read32(inst.src[3]);
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t index = inst.mem.idxen ? wave.vector[vector.index][l] : 0;
    const uint64_t lane_offset =
        inst.mem.offen ? wave.vector[vector.index + (inst.mem.idxen ? 1 : 0)][l] : 0;
    const uint64_t offset = lane_offset + static_cast<uint64_t>(inst.mem.offset);
    result.space[l] = Space::kGlobal;
    result.address[l] = base + scalar_offset + offset + index * stride;
    if (stride != 0) {
      result.valid_bytes[l] = static_cast<uint8_t>(index < records ? bytes : 0);
      continue;
    }
    // Each dword is in or out by itself.
    const uint64_t at = offset + scalar_offset;
    const uint64_t room = at < records ? records - at : 0;
    const uint64_t whole = bytes <= 4 ? (room >= bytes ? bytes : 0) : room / 4 * 4;
    result.valid_bytes[l] = static_cast<uint8_t>(std::min<uint64_t>(bytes, whole));
  }
}

// Distinct values of address / unit over ranges of `bytes`, in `units`; returns how many.
uint64_t DistinctUnits(const LaneAddresses& addresses, uint64_t mask, uint32_t bytes, int shift,
                       uint64_t (&units)[2 * kLanes]) {
  int count = 0;
  bool ascending = true;
  ForEachLane(mask, [&](int lane) {
    const uint64_t first = addresses.address[lane] >> shift;
    const uint64_t last = (addresses.address[lane] + bytes - 1) >> shift;
    for (uint64_t unit = first; unit <= last; ++unit) {
      if (count > 0 && units[count - 1] == unit) continue;
      ascending = ascending && (count == 0 || units[count - 1] < unit);
      units[count++] = unit;
    }
    return true;
  });
  if (ascending) return static_cast<uint64_t>(count);
  std::sort(units, units + count);
  return static_cast<uint64_t>(std::unique(units, units + count) - units);
}

// How many bytes the lanes' ranges of `bytes` cover together.
uint64_t DifferentBytes(const LaneAddresses& addresses, uint64_t mask, uint32_t bytes) {
  uint64_t starts[kLanes];
  int count = 0;
  ForEachLane(mask, [&](int lane) {
    starts[count++] = addresses.address[lane];
    return true;
  });
  std::sort(starts, starts + count);
  uint64_t covered = 0;
  uint64_t end = 0;  // of what is covered so far
  for (int i = 0; i < count; ++i) {
    const uint64_t begin = std::max(starts[i], end);
    end = std::max(end, starts[i] + bytes);
    covered += end - begin;
  }
  return covered;
}

// Tells the recorder of one instruction's access, allocation by allocation: mostly it is one.
void NoteTraffic(WorkgroupContext& context, const LaneAddresses& addresses, uint64_t mask,
                 uint32_t bytes, AccessKind kind) {
  const auto noted = kind == AccessKind::kRead    ? TrafficRecorder::Kind::kLoad
                     : kind == AccessKind::kWrite ? TrafficRecorder::Kind::kStore
                                                  : TrafficRecorder::Kind::kAtomic;
  while (mask != 0) {
    const uint64_t address = addresses.address[std::countr_zero(mask)];
    const Allocation* allocation = context.memory->Find(address, bytes);
    if (allocation == nullptr) return;  // the access itself fails
    uint64_t inside = 0;
    ForEachLane(mask, [&](int lane) {
      const uint64_t at = addresses.address[lane];
      if (at >= allocation->base && at - allocation->base < allocation->size) {
        inside |= uint64_t{1} << lane;
      }
      return true;
    });
    uint64_t units[2 * kLanes];
    const uint64_t segments = DistinctUnits(addresses, inside, bytes, 6, units);
    const uint64_t lines = DistinctUnits(addresses, inside, bytes, 7, units);
    context.traffic->Note(*allocation,
                          {.kind = noted,
                           .bytes = static_cast<uint64_t>(std::popcount(inside)) * bytes,
                           .different_bytes = DifferentBytes(addresses, inside, bytes),
                           .lines = {units, lines},
                           .segments = segments});
    mask &= ~inside;
  }
}

}  // namespace

void VectorAddresses(Wave& wave, const Instruction& inst, uint32_t bytes, LaneAddresses& result) {
  if (inst.encoding == Encoding::kMubuf) {
    BufferAddresses(wave, inst, bytes, result);
    return;
  }
  std::fill(result.valid_bytes, result.valid_bytes + kLanes, static_cast<uint8_t>(bytes));
  FlatAddresses(wave, inst, result);
}

uint8_t* Resolve(Wave& wave, Space space, uint64_t address, uint32_t bytes, AccessKind kind,
                 int lane, const uint8_t* data) {
  switch (space) {
    case Space::kGlobal:
      return ResolveGlobal(wave, address, bytes, kind, lane);
    case Space::kLds:
      return ResolveLds(wave, address, bytes, kind, lane, data);
    case Space::kScratch:
      return ResolveScratch(wave, address, bytes, kind, lane);
  }
  return nullptr;
}

void CountGlobal(Wave& wave, const LaneAddresses& addresses, uint32_t bytes, AccessKind kind) {
  LaunchCounters& counters = wave.context->counters;
  MemoryCounters& memory = kind == AccessKind::kRead    ? counters.loads
                           : kind == AccessKind::kWrite ? counters.stores
                                                        : counters.atomics;
  uint64_t mask = 0;
  uint64_t scratch_lanes = 0;
  ForEachLane(wave.exec(), [&](int lane) {
    if (addresses.space[lane] == Space::kGlobal && addresses.valid_bytes[lane] == bytes) {
      mask |= uint64_t{1} << lane;
    }
    if (addresses.space[lane] == Space::kScratch) ++scratch_lanes;
    return true;
  });
  counters.scratch_bytes += scratch_lanes * bytes;
  if (mask == 0) return;
  memory.bytes += static_cast<uint64_t>(std::popcount(mask)) * bytes;
  uint64_t units[2 * kLanes];
  memory.lines += DistinctUnits(addresses, mask, bytes, 7, units);
  memory.segments += DistinctUnits(addresses, mask, bytes, 6, units);
  if (wave.context->traffic != nullptr) NoteTraffic(*wave.context, addresses, mask, bytes, kind);
}

void NoteScalarLoad(Wave& wave, uint64_t address, uint32_t bytes) {
  if (wave.context->traffic == nullptr) return;
  LaneAddresses addresses;
  addresses.address[0] = address;
  NoteTraffic(*wave.context, addresses, 1, bytes, AccessKind::kRead);
}

void CountLds(Wave& wave, const uint32_t offsets[kLanes], uint32_t bytes, AccessKind kind) {
  constexpr uint32_t kMostBanks = 64;
  const uint32_t banks = TraitsOf(wave.arch).lds_banks;
  LaunchCounters& counters = wave.context->counters;
  const uint64_t exec = wave.exec();
  const uint64_t total = static_cast<uint64_t>(std::popcount(exec)) * bytes;
  (kind == AccessKind::kRead ? counters.lds_read_bytes : counters.lds_write_bytes) += total;
  // Groups of lanes that move 128 bytes together: 8 lanes of 12 or 16 bytes, 16 of 8, 32 of 4.
  const int group = bytes > 8 ? 8 : bytes > 4 ? 16 : 32;
  for (int first = 0; first < kLanes; first += group) {
    // The distinct dwords of each bank; few, so a linear search is quickest.
    std::array<std::array<uint32_t, 32>, kMostBanks> dwords;
    std::array<int, kMostBanks> count{};
    int busiest = 0;
    int conflict_free = 0;
    for (int lane = first; lane < first + group; ++lane) {
      if (((exec >> lane) & 1) == 0) continue;
      conflict_free = 1;
      for (uint32_t at = offsets[lane] / 4; at <= (offsets[lane] + bytes - 1) / 4; ++at) {
        auto& seen = dwords[at % banks];
        int& n = count[at % banks];
        if (std::find(seen.begin(), seen.begin() + n, at) != seen.begin() + n) continue;
        if (n < static_cast<int>(seen.size())) seen[static_cast<size_t>(n++)] = at;
        busiest = std::max(busiest, n);
      }
    }
    counters.lds_bank_conflicts += static_cast<uint64_t>(busiest - conflict_free);
  }
}

}  // namespace lanewise::emulator
