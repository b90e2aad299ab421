#ifndef LANEWISE_EMULATOR_MACHINE_WORKGROUP_H_
#define LANEWISE_EMULATOR_MACHINE_WORKGROUP_H_

// What the waves of one workgroup share: memory, LDS, and the checker's shadow of both.

#include <cstdint>
#include <vector>

#include "emulator/checks.h"
#include "emulator/count/counters.h"
#include "emulator/count/traffic.h"
#include "emulator/machine/wave.h"
#include "emulator/memory/allocation_map.h"

namespace lanewise::emulator {

// The checker's knowledge of one wave's registers. Bit l of a mask is lane l.
struct WaveShadow {
  uint64_t defined[kVectorRows];            // lanes written
  uint32_t scalar_defined[kScalarEntries];  // bits written
  // Sequence number of the memory operation that is still to write the register, 0 for none; it has
  // written once the wave's completed count reaches the number.
  uint32_t vector_vm[kVectorRows];    // by vmcnt
  uint32_t vector_lgkm[kVectorRows];  // by lgkmcnt
  uint32_t scalar_lgkm[kScalarEntries];
  uint32_t vm_issued = 0, vm_completed = 0;
  uint32_t lgkm_issued = 0, lgkm_completed = 0;
  uint32_t last_scalar_load = 0;  // scalar loads return in any order: only lgkmcnt(0) awaits them
  std::vector<uint8_t> scratch_defined;  // a byte for each byte of the wave's scratch
  // Lanes of the current instruction's result rows that stay undefined, set by its handler.
  uint64_t undefined_result[4] = {};
  // Bits of its scalar result that stay undefined.
  uint64_t undefined_scalar = 0;
  // Bytes of the last LDS read (one lane's) that were never written, bit 0 the first.
  uint32_t unwritten_read = 0;
  // A row whose undefined lanes were read from LDS: the address of one such byte plus 1, else 0.
  uint32_t lds_origin[kVectorRows];
};

// Who touched a byte of LDS last. Epochs count barriers from 1; 0 is never.
struct LdsAccess {
  uint32_t epoch = 0;
  uint8_t wave = 0;
  bool several = false;  // more waves than one, in this epoch
  bool atomic = false;
};

struct LdsShadow {
  std::vector<LdsAccess> writes;  // one a byte
  std::vector<LdsAccess> reads;
  uint32_t epoch = 1;
  // Global-to-LDS loads whose bytes may not have arrived.
  struct Arriving {
    uint32_t begin, end;
    int wave;
    uint32_t vm_sequence;
  };
  std::vector<Arriving> arriving;
};

class WorkgroupContext {
 public:
  uint64_t image_base = 0;  // host address of the code object's image: pc 0
  const AllocationSnapshot* memory = nullptr;
  const Allocation* recent = nullptr;  // found last: most accesses hit it again
  std::vector<uint8_t> lds;
  std::vector<std::vector<uint8_t>> scratch;  // one a wave, private_bytes for each lane in turn
  uint32_t private_bytes = 0;
  Checks checks = 0;
  LdsShadow lds_shadow;             // sized where checks ask for it
  std::vector<WaveShadow> shadows;  // one a wave, where checks ask for it
  LaunchCounters counters;
  TrafficRecorder* traffic = nullptr;
  uint64_t clock = 0;  // instructions executed by the workgroup: s_memtime

  bool checking() const { return checks != 0; }
  WaveShadow* ShadowOf(const Wave& wave) {
    return shadows.empty() ? nullptr : &shadows[static_cast<size_t>(wave.id_in_group)];
  }
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_MACHINE_WORKGROUP_H_
