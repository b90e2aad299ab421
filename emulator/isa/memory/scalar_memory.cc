// Scalar loads, and the instructions of their unit that read clocks or clean caches.

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/memory/memory_access.h"
#include "emulator/machine/wave.h"
#include "emulator/machine/workgroup.h"

namespace lanewise::emulator {
namespace {

constexpr int kScalarLane = 0;  // for messages: a scalar load has no lane of its own

void LoadDwords(Wave& wave, const Instruction& inst, uint64_t address, int dwords) {
  if ((address & 3) != 0 && (wave.context->checks & kCheckAlignment) != 0) {
    wave.Fail(
        absl::StrCat("scalar load at 0x", absl::Hex(address), " is misaligned: no multiple of 4"));
    return;
  }
  address &= ~uint64_t{3};  // as the hardware does
  const uint8_t* from = Resolve(wave, Space::kGlobal, address, static_cast<uint32_t>(dwords) * 4,
                                AccessKind::kRead, kScalarLane);
  if (from == nullptr) return;
  std::memcpy(&wave.scalar[inst.dst[0].index], from, static_cast<size_t>(dwords) * 4);
  wave.context->counters.scalar_load_bytes += static_cast<uint64_t>(dwords) * 4;
  NoteScalarLoad(wave, address, static_cast<uint32_t>(dwords) * 4);
}

uint64_t OffsetOf(const Wave& wave, const Instruction& inst) {
  const Operand& operand = inst.src[1];
  const uint32_t in_register = operand.is_scalar() ? wave.Read32(operand) : 0;
  return static_cast<uint64_t>(static_cast<int64_t>(inst.mem.offset)) + in_register;
}

template <int kDwords>
void Load(Wave& wave, const Instruction& inst) {
  LoadDwords(wave, inst, wave.Read64(inst.src[0]) + OffsetOf(wave, inst), kDwords);
}

// A load through a buffer resource; dwords outside of its range are 0.
template <int kDwords>
void BufferLoad(Wave& wave, const Instruction& inst) {
  const int resource = inst.src[0].index;
  const uint32_t word1 = wave.scalar[resource + 1];
  const uint64_t base = static_cast<uint64_t>(word1 & 0xffffu) << 32 | wave.scalar[resource];
  const uint32_t stride = (word1 >> 16) & 0x3fffu;
  const uint64_t size =
      static_cast<uint64_t>(wave.scalar[resource + 2]) * (stride == 0 ? 1 : stride);
  const uint64_t offset = OffsetOf(wave, inst) & ~uint64_t{3};
  uint32_t words[kDwords] = {};
  for (uint64_t i = 0; i < kDwords; ++i) {
    if (offset + 4 * i + 4 > size) break;
    const uint8_t* from =
        Resolve(wave, Space::kGlobal, base + offset + 4 * i, 4, AccessKind::kRead, kScalarLane);
    if (from == nullptr) return;
    std::memcpy(&words[i], from, 4);
    NoteScalarLoad(wave, base + offset + 4 * i, 4);
  }
  std::memcpy(&wave.scalar[inst.dst[0].index], words, sizeof(words));
  wave.context->counters.scalar_load_bytes += sizeof(words);
}

// No time is modelled: the clock is the number of instructions the workgroup has executed.
void ReadClock(Wave& wave, const Instruction& inst) {
  wave.Write64(inst.dst[0], wave.context->clock);
}

void CleanCaches(Wave& /*wave*/, const Instruction& /*inst*/) {}

}  // namespace

void RegisterScalarMemory(Arch /*arch*/, HandlerTable& table) {
  table.Add("s_load_dword", Load<1>);
  table.Add("s_load_dwordx2", Load<2>);
  table.Add("s_load_dwordx4", Load<4>);
  table.Add("s_load_dwordx8", Load<8>);
  table.Add("s_load_dwordx16", Load<16>);
  table.Add("s_buffer_load_dword", BufferLoad<1>);
  table.Add("s_buffer_load_dwordx2", BufferLoad<2>);
  table.Add("s_buffer_load_dwordx4", BufferLoad<4>);
  table.Add("s_buffer_load_dwordx8", BufferLoad<8>);
  table.Add("s_buffer_load_dwordx16", BufferLoad<16>);
  table.Add("s_memtime", ReadClock);
  table.Add("s_memrealtime", ReadClock);
  // One coherent memory is modelled: there is nothing to write back or to drop.
  for (const char* name : {"s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol",
                           "buffer_inv", "buffer_wbl2", "s_icache_inv"}) {
    table.Add(name, CleanCaches);
  }
}

}  // namespace lanewise::emulator
