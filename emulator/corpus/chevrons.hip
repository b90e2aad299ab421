// A HIP program in one source, as people write it: kernels, and host code that launches them with
// <<<...>>>. The compiler embeds the code objects of all chips and registers them at the program's
// start, before main.

#include "emulator/corpus/chevrons.h"
#include "hip/device.h"

namespace lanewise::hip {
namespace {

template <typename T>
__global__ void Scale(const T* in, T* out, T factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = factor * in[i];
}

extern __shared__ int dynamic_lds[];

__global__ void ReverseBlock(const int* in, int* out) {
  dynamic_lds[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = dynamic_lds[blockDim.x - 1 - threadIdx.x];
}

__global__ void Number(int* out) {
  const uint32_t number = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  out[number] = static_cast<int>(number);
}

__device__ int counter = 40;

__global__ void Count(int n) {
  if (static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) < n) atomicAdd(&counter, 1);
}

dim3 Groups(int n) { return dim3(static_cast<uint32_t>(n + 63) / 64); }

}  // namespace

void ScaleFloats(const float* in, float* out, float factor, int n, hipStream_t stream) {
  Scale<<<Groups(n), dim3(64), 0, stream>>>(in, out, factor, n);
}
void ScaleInts(const int* in, int* out, int factor, int n, hipStream_t stream) {
  Scale<<<Groups(n), dim3(64), 0, stream>>>(in, out, factor, n);
}

void Reverse(const int* in, int* out, int n) {
  const auto items = static_cast<uint32_t>(n);
  ReverseBlock<<<dim3(1), dim3(items), items * sizeof(int)>>>(in, out);
}

void NumberGrid(int* out) { Number<<<dim3(5, 3, 2), dim3(1)>>>(out); }

void CountItems(int n) { Count<<<Groups(n), dim3(64)>>>(n); }

const void* CounterSymbol() { return &counter; }

}  // namespace lanewise::hip
