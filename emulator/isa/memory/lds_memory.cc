// LDS: reads, writes, pairs, atomics, and gfx950's transposing reads.

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/memory/atomic_ops.h"
#include "emulator/isa/memory/lane_transfer.h"
#include "emulator/isa/memory/memory_access.h"

namespace lanewise::emulator {
namespace {

void Offsets(const Wave& wave, const Instruction& inst, uint32_t offset, uint32_t result[kLanes]) {
  const uint32_t* row = wave.vector[inst.src[0].index];
  for (int l = 0; l < kLanes; ++l) result[l] = row[l] + offset;
}

template <int kBytes, Extend kExtend>
void Read(Wave& wave, const Instruction& inst) {
  uint32_t offsets[kLanes];
  Offsets(wave, inst, static_cast<uint32_t>(inst.mem.offset), offsets);
  CountLds(wave, offsets, kBytes, AccessKind::kRead);
  ForEachLane(wave.exec(), [&](int lane) {
    const uint8_t* from =
        Resolve(wave, Space::kLds, offsets[lane], kBytes, AccessKind::kRead, lane);
    if (from == nullptr) return false;
    ToLane<kBytes, kExtend>(from, wave, inst.dst[0].index, lane);
    NoteLdsRead(wave, inst.dst[0], 0, offsets[lane], lane);
    return true;
  });
}

template <int kBytes, bool kHigh>
bool WriteLane(Wave& wave, int row, int lane, uint32_t offset) {
  uint8_t bytes[kBytes];
  FromLane<kBytes, kHigh>(wave, row, lane, bytes);
  uint8_t* to = Resolve(wave, Space::kLds, offset, kBytes, AccessKind::kWrite, lane, bytes);
  if (to == nullptr) return false;
  std::memcpy(to, bytes, kBytes);
  return true;
}

template <int kBytes, bool kHigh>
void Write(Wave& wave, const Instruction& inst) {
  uint32_t offsets[kLanes];
  Offsets(wave, inst, static_cast<uint32_t>(inst.mem.offset), offsets);
  CountLds(wave, offsets, kBytes, AccessKind::kWrite);
  ForEachLane(wave.exec(), [&](int lane) {
    return WriteLane<kBytes, kHigh>(wave, inst.src[1].index, lane, offsets[lane]);
  });
}

// Two values at two offsets in units of kUnit values of kBytes.
template <int kBytes, int kUnit>
void ReadPair(Wave& wave, const Instruction& inst) {
  const uint32_t units[] = {inst.mem.offset0, inst.mem.offset1};
  // Both addresses come from a register that the first result may overwrite.
  uint32_t offsets[2][kLanes];
  for (int i = 0; i < 2; ++i) {
    Offsets(wave, inst, units[i] * kBytes * kUnit, offsets[i]);
    CountLds(wave, offsets[i], kBytes, AccessKind::kRead);
  }
  for (int i = 0; i < 2; ++i) {
    const int row = inst.dst[0].index + i * kBytes / 4;
    const bool done = ForEachLane(wave.exec(), [&](int lane) {
      const uint8_t* from =
          Resolve(wave, Space::kLds, offsets[i][lane], kBytes, AccessKind::kRead, lane);
      if (from == nullptr) return false;
      ToLane<kBytes, Extend::kZero>(from, wave, row, lane);
      NoteLdsRead(wave, inst.dst[0], i * kBytes / 4, offsets[i][lane], lane);
      return true;
    });
    if (!done) return;
  }
}

template <int kBytes, int kUnit>
void WritePair(Wave& wave, const Instruction& inst) {
  const uint32_t units[] = {inst.mem.offset0, inst.mem.offset1};
  for (int i = 0; i < 2; ++i) {
    uint32_t offsets[kLanes];
    Offsets(wave, inst, units[i] * kBytes * kUnit, offsets);
    CountLds(wave, offsets, kBytes, AccessKind::kWrite);
    const bool done = ForEachLane(wave.exec(), [&](int lane) {
      return WriteLane<kBytes, false>(wave, inst.src[1 + i].index, lane, offsets[lane]);
    });
    if (!done) return;
  }
}

template <typename T>
T ReadData(const Wave& wave, const Operand& operand, int lane) {
  if constexpr (sizeof(T) == 8) {
    const uint64_t low = wave.vector[operand.index][lane];
    const uint64_t high = wave.vector[operand.index + 1][lane];
    return std::bit_cast<T>(high << 32 | low);
  } else {
    return std::bit_cast<T>(wave.vector[operand.index][lane]);
  }
}

// change(old, lane) gives the new value of one lane; lanes go in ascending order. The forms that
// return the old value have a destination.
template <typename T, typename Change>
void ForEachAtomic(Wave& wave, const Instruction& inst, Change change) {
  uint32_t offsets[kLanes];
  Offsets(wave, inst, static_cast<uint32_t>(inst.mem.offset), offsets);
  CountLds(wave, offsets, sizeof(T), AccessKind::kAtomic);
  ForEachLane(wave.exec(), [&](int lane) {
    uint8_t* at = Resolve(wave, Space::kLds, offsets[lane], sizeof(T), AccessKind::kAtomic, lane);
    if (at == nullptr) return false;
    T old;
    std::memcpy(&old, at, sizeof(T));
    const T changed = change(old, lane);
    std::memcpy(at, &changed, sizeof(T));
    if (inst.dst_count > 0) {
      ToLane<sizeof(T), Extend::kZero>(reinterpret_cast<const uint8_t*>(&old), wave,
                                       inst.dst[0].index, lane);
    }
    return true;
  });
}

template <typename T, T (*kChange)(T, T)>
void Atomic(Wave& wave, const Instruction& inst) {
  ForEachAtomic<T>(wave, inst, [&](T old, int lane) {
    return kChange(old, ReadData<T>(wave, inst.src[1], lane));
  });
}

// data 0 is what the old value is compared with, data 1 the new one.
template <typename T>
void CompareAndSwap(Wave& wave, const Instruction& inst) {
  ForEachAtomic<T>(wave, inst, [&](T old, int lane) {
    return old == ReadData<T>(wave, inst.src[1], lane) ? ReadData<T>(wave, inst.src[2], lane) : old;
  });
}

// data 0 is the mask of bits to clear, data 1 the bits to set.
template <typename T>
void MaskedOr(Wave& wave, const Instruction& inst) {
  ForEachAtomic<T>(wave, inst, [&](T old, int lane) {
    return (old & ~ReadData<T>(wave, inst.src[1], lane)) | ReadData<T>(wave, inst.src[2], lane);
  });
}

// gfx950's transposing reads. The bytes that a group of 16 lanes reads, lane after lane, are a
// matrix of 16 columns, row after row; lane c of the group takes column c.
template <int kElementBits, int kBytes>
void ReadTransposed(Wave& wave, const Instruction& inst) {
  constexpr int kPerLane = kBytes * 8 / kElementBits;
  constexpr int kDwords = kBytes / 4;
  uint32_t offsets[kLanes];
  Offsets(wave, inst, static_cast<uint32_t>(inst.mem.offset), offsets);
  CountLds(wave, offsets, kBytes, AccessKind::kRead);
  uint8_t rows[kLanes][kBytes] = {};
  WaveShadow* const shadow = wave.context->ShadowOf(wave);
  uint32_t unwritten[kLanes] = {};  // bytes of each row
  const bool done = ForEachLane(wave.exec(), [&](int lane) {
    const uint8_t* from =
        Resolve(wave, Space::kLds, offsets[lane], kBytes, AccessKind::kRead, lane);
    if (from == nullptr) return false;
    std::memcpy(rows[lane], from, kBytes);
    if (shadow != nullptr) unwritten[lane] = std::exchange(shadow->unwritten_read, 0);
    return true;
  });
  if (!done) return;
  const auto element = [&](int lane, int index) {
    uint32_t value = 0;
    for (int bit = 0; bit < kElementBits; ++bit) {
      const int at = index * kElementBits + bit;
      value |= static_cast<uint32_t>((rows[lane][at / 8] >> (at % 8)) & 1) << bit;
    }
    return value;
  };
  ForEachLane(wave.exec(), [&](int lane) {
    uint32_t words[kDwords] = {};
    const int group = lane / 16 * 16;
    const int in_group = lane % 16;
    for (int e = 0; e < kPerLane; ++e) {
      // Element (row e, column in_group), where the rows lie one after the other.
      const int flat = e * 16 + in_group;
      const int source = group + flat / kPerLane;
      const uint32_t value = element(source, flat % kPerLane);
      const int first = flat % kPerLane * kElementBits / 8;
      const int last = (flat % kPerLane * kElementBits + kElementBits - 1) / 8;
      if (((unwritten[source] >> first | unwritten[source] >> last) & 1) != 0) {
        shadow->unwritten_read = 1u << (e * kElementBits / 8 % 4);
        const uint32_t byte = offsets[source] + static_cast<uint32_t>(first);
        NoteLdsRead(wave, inst.dst[0], e * kElementBits / 32, byte - e * kElementBits / 8 % 4,
                    lane);
      }
      const int at = e * kElementBits;
      words[at / 32] |= value << (at % 32);
      if (at % 32 + kElementBits > 32) words[at / 32 + 1] |= value >> (32 - at % 32);
    }
    for (int i = 0; i < kDwords; ++i) wave.vector[inst.dst[0].index + i][lane] = words[i];
    return true;
  });
}

struct Entry {
  const char* name;
  Handler handler;
};

void AddAll(HandlerTable& table, std::span<const Entry> entries) {
  for (const Entry& entry : entries) table.Add(entry.name, entry.handler);
}

void RegisterAtomics(HandlerTable& table) {
  using U32 = uint32_t;
  using I32 = int32_t;
  using U64 = uint64_t;
  using I64 = int64_t;
  struct AtomicEntry {
    const char* operation;
    const char* type;
    Handler handler;
  };
  constexpr AtomicEntry kAtomics[] = {
      {"add", "u32", Atomic<U32, AtomicAdd<U32>>},
      {"sub", "u32", Atomic<U32, AtomicSub<U32>>},
      {"rsub", "u32", Atomic<U32, AtomicReverseSub<U32>>},
      {"inc", "u32", Atomic<U32, AtomicInc<U32>>},
      {"dec", "u32", Atomic<U32, AtomicDec<U32>>},
      {"min", "i32", Atomic<I32, AtomicMin<I32>>},
      {"max", "i32", Atomic<I32, AtomicMax<I32>>},
      {"min", "u32", Atomic<U32, AtomicMin<U32>>},
      {"max", "u32", Atomic<U32, AtomicMax<U32>>},
      {"and", "b32", Atomic<U32, AtomicAnd<U32>>},
      {"or", "b32", Atomic<U32, AtomicOr<U32>>},
      {"xor", "b32", Atomic<U32, AtomicXor<U32>>},
      {"cmpst", "b32", CompareAndSwap<U32>},
      {"cmpst", "f32", CompareAndSwap<float>},
      {"mskor", "b32", MaskedOr<U32>},
      {"add", "f32", Atomic<float, AtomicAdd<float>>},
      {"min", "f32", Atomic<float, AtomicMinFloat<float>>},
      {"max", "f32", Atomic<float, AtomicMaxFloat<float>>},
      {"pk_add", "f16", Atomic<U32, AtomicAddHalves>},
      {"pk_add", "bf16", Atomic<U32, AtomicAddBf16s>},
      {"add", "u64", Atomic<U64, AtomicAdd<U64>>},
      {"sub", "u64", Atomic<U64, AtomicSub<U64>>},
      {"rsub", "u64", Atomic<U64, AtomicReverseSub<U64>>},
      {"inc", "u64", Atomic<U64, AtomicInc<U64>>},
      {"dec", "u64", Atomic<U64, AtomicDec<U64>>},
      {"min", "i64", Atomic<I64, AtomicMin<I64>>},
      {"max", "i64", Atomic<I64, AtomicMax<I64>>},
      {"min", "u64", Atomic<U64, AtomicMin<U64>>},
      {"max", "u64", Atomic<U64, AtomicMax<U64>>},
      {"and", "b64", Atomic<U64, AtomicAnd<U64>>},
      {"or", "b64", Atomic<U64, AtomicOr<U64>>},
      {"xor", "b64", Atomic<U64, AtomicXor<U64>>},
      {"cmpst", "b64", CompareAndSwap<U64>},
      {"cmpst", "f64", CompareAndSwap<double>},
      {"mskor", "b64", MaskedOr<U64>},
      {"add", "f64", Atomic<double, AtomicAdd<double>>},
      {"min", "f64", Atomic<double, AtomicMinFloat<double>>},
      {"max", "f64", Atomic<double, AtomicMaxFloat<double>>},
  };
  for (const AtomicEntry& entry : kAtomics) {
    table.Add(absl::StrCat("ds_", entry.operation, "_", entry.type), entry.handler);
    table.Add(absl::StrCat("ds_", entry.operation, "_rtn_", entry.type), entry.handler);
  }
  table.Add("ds_wrxchg_rtn_b32", Atomic<U32, AtomicSwap<U32>>);
  table.Add("ds_wrxchg_rtn_b64", Atomic<U64, AtomicSwap<U64>>);
}

}  // namespace

void RegisterLds(Arch arch, HandlerTable& table) {
  constexpr Entry kEntries[] = {
      {"ds_read_u8", Read<1, Extend::kZero>},
      {"ds_read_i8", Read<1, Extend::kSign>},
      {"ds_read_u16", Read<2, Extend::kZero>},
      {"ds_read_i16", Read<2, Extend::kSign>},
      {"ds_read_u8_d16", Read<1, Extend::kZeroToLow>},
      {"ds_read_u8_d16_hi", Read<1, Extend::kZeroToHigh>},
      {"ds_read_i8_d16", Read<1, Extend::kSignToLow>},
      {"ds_read_i8_d16_hi", Read<1, Extend::kSignToHigh>},
      {"ds_read_u16_d16", Read<2, Extend::kZeroToLow>},
      {"ds_read_u16_d16_hi", Read<2, Extend::kZeroToHigh>},
      {"ds_read_b32", Read<4, Extend::kZero>},
      {"ds_read_b64", Read<8, Extend::kZero>},
      {"ds_read_b96", Read<12, Extend::kZero>},
      {"ds_read_b128", Read<16, Extend::kZero>},
      {"ds_write_b8", Write<1, false>},
      {"ds_write_b8_d16_hi", Write<1, true>},
      {"ds_write_b16", Write<2, false>},
      {"ds_write_b16_d16_hi", Write<2, true>},
      {"ds_write_b32", Write<4, false>},
      {"ds_write_b64", Write<8, false>},
      {"ds_write_b96", Write<12, false>},
      {"ds_write_b128", Write<16, false>},
      {"ds_read2_b32", ReadPair<4, 1>},
      {"ds_read2st64_b32", ReadPair<4, 64>},
      {"ds_read2_b64", ReadPair<8, 1>},
      {"ds_read2st64_b64", ReadPair<8, 64>},
      {"ds_write2_b32", WritePair<4, 1>},
      {"ds_write2st64_b32", WritePair<4, 64>},
      {"ds_write2_b64", WritePair<8, 1>},
      {"ds_write2st64_b64", WritePair<8, 64>},
  };
  AddAll(table, kEntries);
  RegisterAtomics(table);
  if (arch != Arch::kGfx950) return;
  constexpr Entry kTransposed[] = {
      {"ds_read_b64_tr_b16", ReadTransposed<16, 8>},
      {"ds_read_b64_tr_b8", ReadTransposed<8, 8>},
      {"ds_read_b64_tr_b4", ReadTransposed<4, 8>},
      {"ds_read_b96_tr_b6", ReadTransposed<6, 12>},
  };
  AddAll(table, kTransposed);
}

}  // namespace lanewise::emulator
