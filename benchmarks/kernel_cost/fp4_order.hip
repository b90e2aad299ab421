// Two kernels that only load packed e2m1 weights [rows, row_bytes], each lane the same bytes of the
// same step: one from the tile-major order, one from the lane-major order. A wave takes a tile of
// 16 rows; lane 16 j + r takes row r's bytes of lane group j. What they load they fold together, so
// that the two must agree.

#include <cstdint>

#include "hip/device.h"

namespace {

typedef uint32_t Uint2 __attribute__((ext_vector_type(2)));
typedef uint32_t Uint4 __attribute__((ext_vector_type(4)));

// `steps` steps of 64 bytes a row (16 a lane), then perhaps one of 32 (8 a lane).
template <class Address, class TailAddress>
__device__ void Fold(uint32_t row_bytes, uint32_t* out, Address address, TailAddress tail) {
  const uint32_t steps = row_bytes / 64;
  uint32_t sum = 0;
  for (uint32_t step = 0; step < steps; ++step) {
    const Uint4 bytes = *reinterpret_cast<const Uint4*>(address(step));
    sum = sum * 5 + (bytes.x ^ bytes.y ^ bytes.z ^ bytes.w);
  }
  if (row_bytes % 64 != 0) {
    const Uint2 bytes = *reinterpret_cast<const Uint2*>(tail());
    sum = sum * 5 + (bytes.x ^ bytes.y);
  }
  out[blockIdx.x * 64 + threadIdx.x] = sum;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(64)
    LoadTileMajor(const uint8_t* weights, uint32_t row_bytes, uint32_t* out) {
  const uint8_t* const tile = weights + uint64_t{blockIdx.x} * 16 * row_bytes;
  const uint32_t lane = threadIdx.x;
  Fold(
      row_bytes, out, [&](uint32_t step) { return tile + step * 1024 + lane * 16; },
      [&] { return tile + row_bytes / 64 * 1024 + lane * 8; });
}

extern "C" __global__ void __launch_bounds__(64)
    LoadLaneMajor(const uint8_t* weights, uint32_t row_bytes, uint32_t* out) {
  const uint32_t group = threadIdx.x / 16;
  const uint32_t row = threadIdx.x % 16;
  const uint8_t* const from = weights + (uint64_t{blockIdx.x} * 16 + row) * row_bytes;
  Fold(
      row_bytes, out, [&](uint32_t step) { return from + step * 64 + group * 16; },
      [&] { return from + row_bytes / 64 * 64 + group * 8; });
}
