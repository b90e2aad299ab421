#include "emulator/isa/memory/lane_transfer.h"

#include <algorithm>
#include <bit>
#include <string>

#include "absl/strings/str_cat.h"
#include "emulator/check/checker.h"

namespace lanewise::emulator {
namespace {

WaveShadow* UninitialisedShadow(Wave& wave) {
  return (wave.context->checks & kCheckUninitialised) != 0 ? wave.context->ShadowOf(wave) : nullptr;
}

}  // namespace

bool CheckStoredData(Wave& wave, const Operand& data, Space space, int lane) {
  if (space == Space::kScratch) return true;
  const WaveShadow* shadow = UninitialisedShadow(wave);
  if (shadow == nullptr) return true;
  for (int i = 0; i < data.dwords; ++i) {
    const int row = data.index + i;
    if (((shadow->defined[row] >> lane) & 1) != 0) continue;
    wave.Fail(
        absl::StrCat("stores ", VectorName(row), " of lane ", lane, NeverWritten(*shadow, row)));
    return false;
  }
  return true;
}

void NoteScratchWrite(Wave& wave, const Operand& data, Space space, uint64_t address,
                      uint32_t bytes, int lane) {
  if (space != Space::kScratch) return;
  WaveShadow* shadow = UninitialisedShadow(wave);
  if (shadow == nullptr) return;
  uint8_t* const defined = shadow->scratch_defined.data() +
                           static_cast<uint64_t>(lane) * wave.context->private_bytes + address;
  for (uint32_t i = 0; i < bytes; ++i) {
    const uint64_t lanes = shadow->defined[data.index + i / 4];
    defined[i] = static_cast<uint8_t>((lanes >> lane) & 1);
  }
}

void NoteScratchRead(Wave& wave, const Operand& result, Space space, uint64_t address,
                     uint32_t bytes, int lane) {
  if (space != Space::kScratch) return;
  WaveShadow* shadow = UninitialisedShadow(wave);
  if (shadow == nullptr) return;
  const uint8_t* const defined = shadow->scratch_defined.data() +
                                 static_cast<uint64_t>(lane) * wave.context->private_bytes +
                                 address;
  for (uint32_t i = 0; i < bytes; ++i) {
    const uint32_t row = std::min<uint32_t>(i / 4, result.dwords == 0 ? 0 : result.dwords - 1u);
    if (defined[i] == 0) shadow->undefined_result[row] |= uint64_t{1} << lane;
  }
}

void NoteLdsRead(Wave& wave, const Operand& result, int dword, uint64_t address, int lane) {
  WaveShadow* shadow = UninitialisedShadow(wave);
  if (shadow == nullptr) return;
  for (uint32_t bytes = shadow->unwritten_read; bytes != 0; bytes >>= 4, ++dword, address += 4) {
    if ((bytes & 15) == 0) continue;
    // Reports name the lowest lane.
    if (shadow->undefined_result[dword & 3] == 0) {
      shadow->lds_origin[result.index + dword] =
          static_cast<uint32_t>(address) + static_cast<uint32_t>(std::countr_zero(bytes)) + 1;
    }
    shadow->undefined_result[dword & 3] |= uint64_t{1} << lane;
  }
  shadow->unwritten_read = 0;
}

void NoteArriving(Wave& wave, uint32_t offset, uint32_t bytes) {
  WorkgroupContext& context = *wave.context;
  if ((context.checks & kCheckWaits) == 0) return;
  // The executor counts the instruction as issued after its handler.
  const uint32_t sequence = context.ShadowOf(wave)->vm_issued + 1;
  std::vector<LdsShadow::Arriving>& arriving = context.lds_shadow.arriving;
  if (!arriving.empty()) {
    LdsShadow::Arriving& last = arriving.back();
    if (last.wave == wave.id_in_group && last.vm_sequence == sequence && last.end == offset) {
      last.end = offset + bytes;
      return;
    }
  }
  arriving.push_back({offset, offset + bytes, wave.id_in_group, sequence});
}

}  // namespace lanewise::emulator
