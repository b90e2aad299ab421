#ifndef LANEWISE_REFERENCE_GFX942_PAD_EXPERTS_H_
#define LANEWISE_REFERENCE_GFX942_PAD_EXPERTS_H_

// The padding that gives expert tensors of any size the sizes that MoeCopies takes. It is
// Lanewise's own: the seed gets its tensors padded.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/gfx942/moe.h"

namespace lanewise::reference::gfx942 {

// The sizes in memory are multiples of these.
inline constexpr std::int64_t kHiddenMultiple = 256;
inline constexpr std::int64_t kInterMultiple = 64;
// The scale of a padded block: 1.
inline constexpr std::uint8_t kExpertPaddingCode = 127;

// Plain experts with R = inter -> plain experts with K padded to a multiple of 256 and inter to one
// of 64, gate and up rows each, by zero bytes and code 127. The rows of w2 stay. MoeCopies then
// takes the padded inter. Refuses (InvalidArgument) tensors whose shapes do not belong together,
// and K or inter that is not a multiple of 32.
absl::StatusOr<Experts> PadExperts(const Experts& plain);

// The inverse for experts of sizes `inter` and `k`. Refuses padded tensors of other sizes than
// PadExperts makes, and padding that is not zero bytes and code 127, with its coordinate.
absl::StatusOr<Experts> UndoPadExperts(const Experts& padded, std::int64_t inter, std::int64_t k);

}  // namespace lanewise::reference::gfx942

#endif  // LANEWISE_REFERENCE_GFX942_PAD_EXPERTS_H_
