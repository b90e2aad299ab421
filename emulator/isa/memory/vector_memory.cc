// Loads and stores of lanes: global, flat and scratch, and global-to-LDS loads.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/memory/lane_transfer.h"
#include "emulator/isa/memory/memory_access.h"

namespace lanewise::emulator {
namespace {

constexpr int kMaxBytes = 16;  // of one lane's access

// The bytes of one lane's read; where a part is outside of a buffer resource's range, they are put
// together in `partial` with zeros for it. nullptr after a failure.
const uint8_t* ReadWithin(Wave& wave, const LaneAddresses& addresses, uint32_t bytes, int lane,
                          uint8_t* partial) {
  const uint32_t valid = std::min<uint32_t>(addresses.valid_bytes[lane], bytes);
  const uint8_t* from = nullptr;
  if (valid > 0) {
    from = Resolve(wave, addresses.space[lane], addresses.address[lane], valid, AccessKind::kRead,
                   lane);
    if (from == nullptr || valid == bytes) return from;
  }
  std::memset(partial, 0, bytes);
  if (valid > 0) std::memcpy(partial, from, valid);
  return partial;
}

template <int kBytes, Extend kExtend>
void Load(Wave& wave, const Instruction& inst) {
  LaneAddresses addresses;
  VectorAddresses(wave, inst, kBytes, addresses);
  CountGlobal(wave, addresses, kBytes, AccessKind::kRead);
  ForEachLane(wave.exec(), [&](int lane) {
    uint8_t partial[kMaxBytes];
    const uint8_t* from = ReadWithin(wave, addresses, kBytes, lane, partial);
    if (from == nullptr) return false;
    ToLane<kBytes, kExtend>(from, wave, inst.dst[0].index, lane);
    if (addresses.space[lane] == Space::kLds) {
      NoteLdsRead(wave, inst.dst[0], 0, addresses.address[lane], lane);
    }
    NoteScratchRead(wave, inst.dst[0], addresses.space[lane], addresses.address[lane], kBytes,
                    lane);
    return true;
  });
}

// LDS address: M0's low half, the instruction's offset, and a slot of the lane's own. Bytes and
// halves fill a dword.
template <int kBytes, Extend kExtend>
void LoadToLds(Wave& wave, const Instruction& inst) {
  constexpr int kSlot = kBytes < 4 ? 4 : kBytes;
  LaneAddresses addresses;
  VectorAddresses(wave, inst, kBytes, addresses);
  CountGlobal(wave, addresses, kBytes, AccessKind::kRead);
  const uint32_t base = (wave.m0() & 0xffffu) + static_cast<uint32_t>(inst.mem.offset);
  ForEachLane(wave.exec(), [&](int lane) {
    uint8_t partial[kMaxBytes];
    const uint8_t* from = ReadWithin(wave, addresses, kBytes, lane, partial);
    if (from == nullptr) return false;
    const uint32_t slot = base + static_cast<uint32_t>(lane * kSlot);
    uint8_t bytes[kSlot];
    if constexpr (kBytes < 4) {
      const uint32_t value = ExtendTo32<kBytes, kExtend>(from);
      std::memcpy(bytes, &value, sizeof(value));
    } else {
      std::memcpy(bytes, from, kBytes);
    }
    uint8_t* to = Resolve(wave, Space::kLds, slot, kSlot, AccessKind::kWrite, lane, bytes);
    if (to == nullptr) return false;
    std::memcpy(to, bytes, kSlot);
    NoteArriving(wave, slot, kSlot);
    return true;
  });
  wave.context->counters.lds_write_bytes +=
      static_cast<uint64_t>(std::popcount(wave.exec())) * kSlot;
}

// buffer_load_... lds is a load to LDS by a modifier instead of a mnemonic.
template <int kBytes, Extend kExtend>
void BufferLoad(Wave& wave, const Instruction& inst) {
  if (inst.mem.lds) {
    LoadToLds<kBytes, kExtend>(wave, inst);
  } else {
    Load<kBytes, kExtend>(wave, inst);
  }
}

template <int kBytes, bool kHigh>
void Store(Wave& wave, const Instruction& inst) {
  LaneAddresses addresses;
  VectorAddresses(wave, inst, kBytes, addresses);
  CountGlobal(wave, addresses, kBytes, AccessKind::kWrite);
  ForEachLane(wave.exec(), [&](int lane) {
    const uint32_t valid = std::min<uint32_t>(addresses.valid_bytes[lane], kBytes);
    if (valid == 0) return true;
    if (!CheckStoredData(wave, inst.src[1], addresses.space[lane], lane)) return false;
    uint8_t bytes[kMaxBytes];
    FromLane<kBytes, kHigh>(wave, inst.src[1].index, lane, bytes);
    uint8_t* to = Resolve(wave, addresses.space[lane], addresses.address[lane], valid,
                          AccessKind::kWrite, lane, bytes);
    if (to == nullptr) return false;
    std::memcpy(to, bytes, valid);
    NoteScratchWrite(wave, inst.src[1], addresses.space[lane], addresses.address[lane], kBytes,
                     lane);
    return true;
  });
}

}  // namespace

void RegisterVectorMemory(Arch /*arch*/, HandlerTable& table) {
  struct Entry {
    const char* name;
    Handler handler;
    InstructionClass klass = InstructionClass::kGlobalLoad;
  };
  constexpr InstructionClass kStore = InstructionClass::kGlobalStore;
  constexpr Entry kEntries[] = {
      {"load_ubyte", Load<1, Extend::kZero>},
      {"load_sbyte", Load<1, Extend::kSign>},
      {"load_ushort", Load<2, Extend::kZero>},
      {"load_sshort", Load<2, Extend::kSign>},
      {"load_dword", Load<4, Extend::kZero>},
      {"load_dwordx2", Load<8, Extend::kZero>},
      {"load_dwordx3", Load<12, Extend::kZero>},
      {"load_dwordx4", Load<16, Extend::kZero>},
      {"load_ubyte_d16", Load<1, Extend::kZeroToLow>},
      {"load_ubyte_d16_hi", Load<1, Extend::kZeroToHigh>},
      {"load_sbyte_d16", Load<1, Extend::kSignToLow>},
      {"load_sbyte_d16_hi", Load<1, Extend::kSignToHigh>},
      {"load_short_d16", Load<2, Extend::kZeroToLow>},
      {"load_short_d16_hi", Load<2, Extend::kZeroToHigh>},
      {"store_byte", Store<1, false>, kStore},
      {"store_byte_d16_hi", Store<1, true>, kStore},
      {"store_short", Store<2, false>, kStore},
      {"store_short_d16_hi", Store<2, true>, kStore},
      {"store_dword", Store<4, false>, kStore},
      {"store_dwordx2", Store<8, false>, kStore},
      {"store_dwordx3", Store<12, false>, kStore},
      {"store_dwordx4", Store<16, false>, kStore},
  };
  for (const char* prefix : {"global_", "flat_", "scratch_"}) {
    for (const Entry& entry : kEntries)
      table.Add(absl::StrCat(prefix, entry.name), entry.handler, {.klass = entry.klass});
  }
  constexpr Entry kToLds[] = {
      {"load_lds_ubyte", LoadToLds<1, Extend::kZero>},
      {"load_lds_sbyte", LoadToLds<1, Extend::kSign>},
      {"load_lds_ushort", LoadToLds<2, Extend::kZero>},
      {"load_lds_sshort", LoadToLds<2, Extend::kSign>},
      {"load_lds_dword", LoadToLds<4, Extend::kZero>},
      {"load_lds_dwordx3", LoadToLds<12, Extend::kZero>},
      {"load_lds_dwordx4", LoadToLds<16, Extend::kZero>},
  };
  constexpr Entry kBuffer[] = {
      {"buffer_load_ubyte", BufferLoad<1, Extend::kZero>},
      {"buffer_load_sbyte", BufferLoad<1, Extend::kSign>},
      {"buffer_load_ushort", BufferLoad<2, Extend::kZero>},
      {"buffer_load_sshort", BufferLoad<2, Extend::kSign>},
      {"buffer_load_dword", BufferLoad<4, Extend::kZero>},
      {"buffer_load_dwordx3", BufferLoad<12, Extend::kZero>},
      {"buffer_load_dwordx4", BufferLoad<16, Extend::kZero>},
  };
  for (const Entry& entry : kBuffer) table.Add(entry.name, entry.handler, {.klass = entry.klass});
  for (const Entry& entry : kEntries) {
    const std::string name = absl::StrCat("buffer_", entry.name);
    if (table.Find(name) == nullptr) table.Add(name, entry.handler, {.klass = entry.klass});
  }
  for (const char* prefix : {"global_", "scratch_"}) {
    for (const Entry& entry : kToLds) {
      table.Add(absl::StrCat(prefix, entry.name), entry.handler,
                {.klass = entry.klass, .to_lds = true});
    }
  }
}

}  // namespace lanewise::emulator
