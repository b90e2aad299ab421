#ifndef LANEWISE_TOOLS_VERIFY_STORED_FORM_H_
#define LANEWISE_TOOLS_VERIFY_STORED_FORM_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "checkpoint/prepared_metadata.h"

namespace lanewise::tools {

// Whether stored bytes can be what their description says: InvalidArgument if not, with the reason.
//  - their number is that of the logical shape in this layout, with the padding that it has (or
//    that the parameters state);
//  - no byte is one that the layout never holds: an FNUZ NaN (0x80) in gfx942/dense, code 0 or
//    codes above 250 in its codes, a -0 nibble (0x8) in gfx942 FP4, codes of 250 and more in the
//    codes of gfx942 experts.
// The first is CheckStoredSize; the second takes the bytes a piece at a time,
// from byte `offset` on.
absl::Status CheckStoredSize(std::string_view name, const PreparedTensor& what, std::int64_t bytes);
absl::Status CheckStoredBytes(std::string_view name, const PreparedTensor& what,
                              std::int64_t offset, std::span<const std::uint8_t> piece);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_STORED_FORM_H_
