#ifndef LANEWISE_EMULATOR_ISA_ARITHMETIC_ROUNDING_H_
#define LANEWISE_EMULATOR_ISA_ARITHMETIC_ROUNDING_H_

// MODE's rounding modes, as the host's while an instruction runs.

#include <cfenv>

#include "emulator/machine/vector_operand.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {

// Sets the host's rounding to what MODE says for results of that type; back at the end. Costs one
// comparison where MODE says nearest-even, as it nearly always does.
class RoundingScope {
 public:
  RoundingScope(const Mode& mode, LaneType type) {
    if ((mode.bits & 0xf) != 0) [[unlikely]]
      Set(FieldOf(mode, type));
  }
  ~RoundingScope() {
    if (changed_) [[unlikely]]
      std::fesetround(FE_TONEAREST);
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  static int FieldOf(const Mode& mode, LaneType type) {
    switch (type) {
      case LaneType::kF32:
        return mode.round_f32();
      case LaneType::kF16:
      case LaneType::kF64:
        return mode.round_f16_f64();
      default:
        return 0;
    }
  }
  void Set(int field) {
    static constexpr int kHostModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    changed_ = field != 0;
    if (changed_) std::fesetround(kHostModes[field]);
  }

  bool changed_ = false;
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_ARITHMETIC_ROUNDING_H_
