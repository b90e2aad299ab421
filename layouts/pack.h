#ifndef LANEWISE_LAYOUTS_PACK_H_
#define LANEWISE_LAYOUTS_PACK_H_

// Moves an array between its row-major order and a layout's order, for any layout and any unit of
// 1, 2, 4, 8 or 16 bytes. The plain way, one contiguous run at a time; weights/ does the same at
// memory speed.
//
// For every coordinate c of the layout, with u = unit_bytes:
//   Pack:   memory[u Offset(c) .. + u]        = logical[u LogicalIndex(c) .. + u]
//   Unpack: logical[u LogicalIndex(c) .. + u] = memory[u Offset(c) .. + u]

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "layouts/bound_layout.h"

namespace lanewise {

// InvalidArgument for another unit size, and for spans of other than unit_bytes * units() bytes.
// The spans must not overlap.
absl::Status Pack(const BoundLayout& layout, int unit_bytes, std::span<const std::uint8_t> logical,
                  std::span<std::uint8_t> memory);
absl::Status Unpack(const BoundLayout& layout, int unit_bytes, std::span<const std::uint8_t> memory,
                    std::span<std::uint8_t> logical);

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_PACK_H_
