// Atomic operations of lanes on global, flat and buffer memory. The lanes of a wave take their
// turns in ascending order.

#include <bit>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/memory/atomic_ops.h"
#include "emulator/isa/memory/memory_access.h"

namespace lanewise::emulator {
namespace {

template <typename T>
T ReadData(const Wave& wave, int row, int lane) {
  if constexpr (sizeof(T) == 8) {
    const uint64_t low = wave.vector[row][lane];
    const uint64_t high = wave.vector[row + 1][lane];
    return std::bit_cast<T>(high << 32 | low);
  } else {
    return std::bit_cast<T>(wave.vector[row][lane]);
  }
}

template <typename T>
void WriteData(Wave& wave, int row, int lane, T value) {
  if constexpr (sizeof(T) == 8) {
    const auto bits = std::bit_cast<uint64_t>(value);
    wave.vector[row][lane] = static_cast<uint32_t>(bits);
    wave.vector[row + 1][lane] = static_cast<uint32_t>(bits >> 32);
  } else {
    wave.vector[row][lane] = std::bit_cast<uint32_t>(value);
  }
}

// change(old, lane) gives the new value of one lane.
template <typename T, typename Change>
void ForEachAtomic(Wave& wave, const Instruction& inst, Change change) {
  LaneAddresses addresses;
  VectorAddresses(wave, inst, sizeof(T), addresses);
  CountGlobal(wave, addresses, sizeof(T), AccessKind::kAtomic);
  ForEachLane(wave.exec(), [&](int lane) {
    if (addresses.address[lane] % sizeof(T) != 0) {
      wave.Fail(absl::StrCat("atomic of ", sizeof(T), " bytes at 0x",
                             absl::Hex(addresses.address[lane]), " by lane ", lane,
                             " is misaligned"));
      return false;
    }
    if (addresses.valid_bytes[lane] == 0) {  // outside of a buffer: nothing happens, 0 comes back
      if (inst.mem.sc0) WriteData<T>(wave, inst.dst[0].index, lane, T{});
      return true;
    }
    uint8_t* at = Resolve(wave, addresses.space[lane], addresses.address[lane], sizeof(T),
                          AccessKind::kAtomic, lane);
    if (at == nullptr) return false;
    const T old = ModifyAtomically<T>(at, [&](T value) { return change(value, lane); });
    if (inst.mem.sc0) WriteData<T>(wave, inst.dst[0].index, lane, old);
    return true;
  });
}

template <typename T, T (*kChange)(T, T)>
void Atomic(Wave& wave, const Instruction& inst) {
  ForEachAtomic<T>(wave, inst, [&](T old, int lane) {
    return kChange(old, ReadData<T>(wave, inst.src[1].index, lane));
  });
}

// The data are the new value, then the one compared with.
template <typename T>
void CompareAndSwap(Wave& wave, const Instruction& inst) {
  ForEachAtomic<T>(wave, inst, [&](T old, int lane) {
    const int row = inst.src[1].index;
    const T compared = ReadData<T>(wave, row + static_cast<int>(sizeof(T) / 4), lane);
    return old == compared ? ReadData<T>(wave, row, lane) : old;
  });
}

}  // namespace

void RegisterVectorAtomic(Arch /*arch*/, HandlerTable& table) {
  using U32 = uint32_t;
  using I32 = int32_t;
  using U64 = uint64_t;
  using I64 = int64_t;
  struct Entry {
    const char* name;
    Handler handler;
    bool order_shows = false;  // though it returns nothing: exchanges, wrapping, sums of floats
  };
  constexpr Entry kEntries[] = {
      {"swap", Atomic<U32, AtomicSwap<U32>>, true},
      {"cmpswap", CompareAndSwap<U32>, true},
      {"add", Atomic<U32, AtomicAdd<U32>>},
      {"sub", Atomic<U32, AtomicSub<U32>>},
      {"smin", Atomic<I32, AtomicMin<I32>>},
      {"umin", Atomic<U32, AtomicMin<U32>>},
      {"smax", Atomic<I32, AtomicMax<I32>>},
      {"umax", Atomic<U32, AtomicMax<U32>>},
      {"and", Atomic<U32, AtomicAnd<U32>>},
      {"or", Atomic<U32, AtomicOr<U32>>},
      {"xor", Atomic<U32, AtomicXor<U32>>},
      {"inc", Atomic<U32, AtomicInc<U32>>, true},
      {"dec", Atomic<U32, AtomicDec<U32>>, true},
      {"add_f32", Atomic<float, AtomicAdd<float>>, true},
      {"pk_add_f16", Atomic<U32, AtomicAddHalves>, true},
      {"pk_add_bf16", Atomic<U32, AtomicAddBf16s>, true},
      {"add_f64", Atomic<double, AtomicAdd<double>>, true},
      {"min_f64", Atomic<double, AtomicMinFloat<double>>, true},
      {"max_f64", Atomic<double, AtomicMaxFloat<double>>, true},
      {"swap_x2", Atomic<U64, AtomicSwap<U64>>, true},
      {"cmpswap_x2", CompareAndSwap<U64>, true},
      {"add_x2", Atomic<U64, AtomicAdd<U64>>},
      {"sub_x2", Atomic<U64, AtomicSub<U64>>},
      {"smin_x2", Atomic<I64, AtomicMin<I64>>},
      {"umin_x2", Atomic<U64, AtomicMin<U64>>},
      {"smax_x2", Atomic<I64, AtomicMax<I64>>},
      {"umax_x2", Atomic<U64, AtomicMax<U64>>},
      {"and_x2", Atomic<U64, AtomicAnd<U64>>},
      {"or_x2", Atomic<U64, AtomicOr<U64>>},
      {"xor_x2", Atomic<U64, AtomicXor<U64>>},
      {"inc_x2", Atomic<U64, AtomicInc<U64>>, true},
      {"dec_x2", Atomic<U64, AtomicDec<U64>>, true},
  };
  for (const char* prefix : {"global_atomic_", "flat_atomic_", "buffer_atomic_"}) {
    for (const Entry& entry : kEntries) {
      table.Add(absl::StrCat(prefix, entry.name), entry.handler,
                {.klass = InstructionClass::kAtomic, .order_shows = entry.order_shows});
    }
  }
}

}  // namespace lanewise::emulator
