// Divergent control flow, calls, and registers that are indexed at run time.

#include <cstdint>

#include "hip/device.h"

// Steps of the Collatz sequence to 1, at most `limit`.
extern "C" __global__ void Collatz(const uint32_t* in, uint32_t* out, uint32_t limit) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t value = in[i];
  uint32_t steps = 0;
  while (value != 1) {
    if (steps == limit) break;
    if (value % 2 == 0) {
      value /= 2;
      ++steps;
      continue;
    }
    value = 3 * value + 1;
    ++steps;
  }
  out[i] = steps;
}

extern "C" __global__ void Switch(const int* in, int* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = in[i];
  int result = 0;
  switch (value % 7) {
    case 0:
      result = value * 3;
      break;
    case 1:
      result = value - 100;
      [[fallthrough]];
    case 2:
      result += 7;
      break;
    case 3:
      for (int j = 0; j < value % 13; ++j) result += j * j;
      break;
    case 4:
      result = -value;
      break;
    case 5:
      if (value > 50) return;
      result = 1;
      break;
    default:
      result = ~value;
  }
  out[i] = result;
}

namespace {

__device__ __attribute__((noinline)) int Ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
}

__device__ __attribute__((noinline)) int Twice(int value) { return 2 * value; }
__device__ __attribute__((noinline)) int Squared(int value) { return value * value; }

}  // namespace

__constant__ int kTable[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int counter = 40;

extern "C" __global__ void Calls(const int* in, int* out) {
  const uint32_t i = threadIdx.x;
  int (*function)(int) = in[i] % 2 == 0 ? Twice : Squared;
  out[i] = function(in[i]) + kTable[in[i] & 7] + counter;
}

extern "C" __global__ void Recursion(const int* in, int* out) {
  out[threadIdx.x] = Ackermann(2, in[threadIdx.x] & 3);
}

// The index is the same for all lanes: a register named by M0.
extern "C" __global__ void UniformIndex(const int* in, int* out, const int* order, int n) {
  int values[16];
  for (int j = 0; j < 16; ++j) values[j] = in[16 * threadIdx.x + j];
  int sum = 0;
  for (int j = 0; j < n; ++j) {
    sum = 31 * sum + values[order[j] & 15];
    values[(order[j] + 5) & 15] = sum;
  }
  out[threadIdx.x] = sum;
}

// Each lane has its own index: scratch memory, or a search through the lanes.
extern "C" __global__ void DivergentIndex(const int* in, int* out, int n) {
  int values[24];
  for (int j = 0; j < 24; ++j) values[j] = in[24 * threadIdx.x + j];
  for (int j = 0; j < n; ++j) {
    const uint32_t a = static_cast<uint32_t>(values[j % 24]) % 24;
    const uint32_t b = (a * 7 + threadIdx.x) % 24;
    const int swap = values[a];
    values[a] = values[b] + j;
    values[b] = swap;
  }
  int sum = 0;
  for (int j = 0; j < 24; ++j) sum = sum * 17 + values[j];
  out[threadIdx.x] = sum;
}

// Three dimensions of work-items and workgroups.
extern "C" __global__ void Coordinates(uint32_t* out) {
  const uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const uint32_t item = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const uint32_t items = blockDim.x * blockDim.y * blockDim.z;
  out[block * items + item] = blockIdx.x | blockIdx.y << 4 | blockIdx.z << 8 | threadIdx.x << 12 |
                              threadIdx.y << 18 | threadIdx.z << 24;
}
