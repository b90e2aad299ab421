// Moves units between a row-major array and a layout's order: one kernel, instantiated for both
// directions of every layout of MoveLayout(). A work-item serves 16 bytes of memory in the layout's
// order and finds their pieces in the row-major array by the pattern's unrolled index arithmetic.

#include <cstdint>
#include <utility>

#include "hip/common/layout_move.h"
#include "hip/device.h"
#include "layouts/index.h"

namespace {

using lanewise::Pattern;
using lanewise::hip::LayoutMove;

typedef uint32_t Uint4 __attribute__((ext_vector_type(4)));

template <int kBytes>
struct PieceOf;
template <>
struct PieceOf<1> {
  using Type = uint8_t;
};
template <>
struct PieceOf<2> {
  using Type = uint16_t;
};
template <>
struct PieceOf<4> {
  using Type = uint32_t;
};
template <>
struct PieceOf<8> {
  using Type = uint64_t;
};
template <>
struct PieceOf<16> {
  using Type = Uint4;
};

// Where a unit lies in the row-major array.
template <Pattern kPattern>
__device__ uint8_t* LogicalPlace(const LayoutMove& move, uint32_t unit) {
  using Index = lanewise::PatternIndex<kPattern>;
  uint32_t extents[Index::kAxes], coordinate[Index::kAxes];
#pragma unroll
  for (int axis = 0; axis < Index::kAxes; ++axis) extents[axis] = move.extents[axis];
  Index::template Coordinate<uint32_t>(unit, extents, coordinate);
  uint64_t offset = 0;
#pragma unroll
  for (int axis = 0; axis < Index::kAxes; ++axis) {
    offset += coordinate[axis] * move.axis_bytes[axis];
  }
  return move.logical + offset;
}

template <bool kLeads>
__device__ uint8_t* MemoryPlace(const LayoutMove& move, uint32_t unit) {
  uint64_t lead = 0;
  if constexpr (kLeads) {
    if (move.lead_units != 0) {
      lead = unit / move.lead_units;
      unit -= static_cast<uint32_t>(lead) * move.lead_units;
    }
  }
  return move.memory + lead * move.lead_bytes + (uint64_t{unit} << move.unit_shift);
}

template <Pattern kPattern, bool kLeads, bool kPack, int kPieceBytes>
__device__ void MoveItem(const LayoutMove& move, uint32_t first) {
  using Piece = typename PieceOf<kPieceBytes>::Type;
  constexpr int kPieces = 16 / kPieceBytes;
  const uint32_t units_per_piece = kPieceBytes >> move.unit_shift;
  if (move.wide != 0 && move.units - first >= 16u >> move.unit_shift) {
    auto* const memory = reinterpret_cast<Uint4*>(MemoryPlace<kLeads>(move, first));
    union {
      Uint4 whole;
      Piece piece[kPieces];
    } bytes;
    if constexpr (!kPack) bytes.whole = *memory;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      auto* const logical =
          reinterpret_cast<Piece*>(LogicalPlace<kPattern>(move, first + i * units_per_piece));
      if constexpr (kPack) {
        bytes.piece[i] = *logical;
      } else {
        *logical = bytes.piece[i];
      }
    }
    if constexpr (kPack) *memory = bytes.whole;
    return;
  }
#pragma unroll 1
  for (int i = 0; i < kPieces; ++i) {
    const uint32_t unit = first + i * units_per_piece;
    if (unit >= move.units) return;
    auto* const logical = reinterpret_cast<Piece*>(LogicalPlace<kPattern>(move, unit));
    auto* const memory = reinterpret_cast<Piece*>(MemoryPlace<kLeads>(move, unit));
    if constexpr (kPack) {
      *memory = *logical;
    } else {
      *logical = *memory;
    }
  }
}

constexpr Pattern PatternOf(int layout, bool remainder) {
  const lanewise::Layout& found = lanewise::hip::MoveLayout(layout);
  return lanewise::hip::SplitAtParameters(remainder ? found.remainder : found.main);
}

}  // namespace

// The launcher finds a kernel by the name that this gets in C++: see MoveKernelName.
template <int kLayout, bool kRemainder, bool kPack>
__global__ void __launch_bounds__(256) MoveUnits(LayoutMove move) {
  constexpr Pattern kPattern = PatternOf(kLayout, kRemainder);
  constexpr bool kLeads = lanewise::hip::MoveLayout(kLayout).HasRemainder();
  const uint32_t item = blockIdx.x * 256 + threadIdx.x;
  const uint32_t first = item << (4 - move.unit_shift);
  if (first >= move.units) return;
  switch (move.piece_shift) {
    case 0:
      return MoveItem<kPattern, kLeads, kPack, 1>(move, first);
    case 1:
      return MoveItem<kPattern, kLeads, kPack, 2>(move, first);
    case 2:
      return MoveItem<kPattern, kLeads, kPack, 4>(move, first);
    case 3:
      return MoveItem<kPattern, kLeads, kPack, 8>(move, first);
    default:
      return MoveItem<kPattern, kLeads, kPack, 16>(move, first);
  }
}

// Naming a kernel instantiates it.
template <int kLayout>
void InstantiateLayout() {
  if constexpr (lanewise::hip::KernelLayout(kLayout) == kLayout) {
    (void)&MoveUnits<kLayout, false, true>;
    (void)&MoveUnits<kLayout, false, false>;
    if constexpr (lanewise::hip::MoveLayout(kLayout).HasRemainder()) {
      (void)&MoveUnits<kLayout, true, true>;
      (void)&MoveUnits<kLayout, true, false>;
    }
  }
}
template <int... kLayout>
void InstantiateAll(std::integer_sequence<int, kLayout...>) {
  (InstantiateLayout<kLayout>(), ...);
}
void Instantiate() {
  InstantiateAll(std::make_integer_sequence<int, lanewise::hip::kMoveLayouts>());
}
