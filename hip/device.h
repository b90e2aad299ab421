#ifndef LANEWISE_HIP_DEVICE_H_
#define LANEWISE_HIP_DEVICE_H_

// What a kernel needs of HIP, for compilers without ROCm's headers: the keywords, the built-in
// variables, and the few functions that everything here uses. With ROCm's own hipcc (which puts its
// runtime wrapper in front of every source) this header only adds the functions.
//
// A kernel source includes this in place of <hip/hip_runtime.h>:
//
//   #include "hip/device.h"
//   extern "C" __global__ void Scale(const float* in, float* out, float factor, int n) {
//     const int i = blockIdx.x * blockDim.x + threadIdx.x;
//     if (i < n) out[i] = factor * in[i];
//   }
//
// The same source compiles for AMD's chips and, as CUDA without CUDA's headers, for NVIDIA's (see
// hip_code_object). What lanes tell each other is in lanes_amd.h and lanes_nvidia.h.

#include <cstdint>
#include <cstdlib>  // what <new> of the device compiler takes malloc from, whoever includes it later

#if defined(__CLANG_HIP_RUNTIME_WRAPPER_H__)

#include <hip/hip_runtime.h>

#else

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
// Work-items of a workgroup at most, and optionally, for AMD's chips alone, the least waves a SIMD
// should hold.
#if defined(__NVPTX__)
#define __launch_bounds__(items, ...) __attribute__((launch_bounds(items)))
#else
#define LANEWISE_BOUNDS_1(items) __attribute__((amdgpu_flat_work_group_size(1, items)))
#define LANEWISE_BOUNDS_2(items, waves) \
  LANEWISE_BOUNDS_1(items) __attribute__((amdgpu_waves_per_eu(waves)))
#define LANEWISE_BOUNDS(a, b, chosen, ...) chosen
#define __launch_bounds__(...) \
  LANEWISE_BOUNDS(__VA_ARGS__, LANEWISE_BOUNDS_2, LANEWISE_BOUNDS_1, )(__VA_ARGS__)
#endif

namespace lanewise::hip_builtin {

// Members read as numbers and are computed where they are used.
#define LANEWISE_HIP_COORDINATES(type, get_x, get_y, get_z)          \
  struct type {                                                      \
    __declspec(property(get = X)) uint32_t x;                        \
    __declspec(property(get = Y)) uint32_t y;                        \
    __declspec(property(get = Z)) uint32_t z;                        \
    __device__ static __forceinline__ uint32_t X() { return get_x; } \
    __device__ static __forceinline__ uint32_t Y() { return get_y; } \
    __device__ static __forceinline__ uint32_t Z() { return get_z; } \
  }
#if defined(__NVPTX__)
LANEWISE_HIP_COORDINATES(ThreadIdx, __nvvm_read_ptx_sreg_tid_x(), __nvvm_read_ptx_sreg_tid_y(),
                         __nvvm_read_ptx_sreg_tid_z());
LANEWISE_HIP_COORDINATES(BlockIdx, __nvvm_read_ptx_sreg_ctaid_x(), __nvvm_read_ptx_sreg_ctaid_y(),
                         __nvvm_read_ptx_sreg_ctaid_z());
LANEWISE_HIP_COORDINATES(BlockDim, __nvvm_read_ptx_sreg_ntid_x(), __nvvm_read_ptx_sreg_ntid_y(),
                         __nvvm_read_ptx_sreg_ntid_z());
LANEWISE_HIP_COORDINATES(GridDim, __nvvm_read_ptx_sreg_nctaid_x(), __nvvm_read_ptx_sreg_nctaid_y(),
                         __nvvm_read_ptx_sreg_nctaid_z());
#else
LANEWISE_HIP_COORDINATES(ThreadIdx, __builtin_amdgcn_workitem_id_x(),
                         __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z());
LANEWISE_HIP_COORDINATES(BlockIdx, __builtin_amdgcn_workgroup_id_x(),
                         __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
LANEWISE_HIP_COORDINATES(BlockDim, __builtin_amdgcn_workgroup_size_x(),
                         __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z());
LANEWISE_HIP_COORDINATES(GridDim,
                         __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
                         __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
                         __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z());
#endif
#undef LANEWISE_HIP_COORDINATES

}  // namespace lanewise::hip_builtin

extern const __device__ __attribute__((weak)) lanewise::hip_builtin::ThreadIdx threadIdx;
extern const __device__ __attribute__((weak)) lanewise::hip_builtin::BlockIdx blockIdx;
extern const __device__ __attribute__((weak)) lanewise::hip_builtin::BlockDim blockDim;
extern const __device__ __attribute__((weak)) lanewise::hip_builtin::GridDim gridDim;

// Waits for all work-items of the workgroup and makes their LDS and global accesses visible. For
// NVIDIA's chips clang has it built in.
#if !defined(__NVPTX__)
static __device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#endif

// Atomic additions on global memory or LDS, relaxed, seen by the whole device; the old value.
static __device__ __forceinline__ int atomicAdd(int* place, int value) {
  return __scoped_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
static __device__ __forceinline__ unsigned atomicAdd(unsigned* place, unsigned value) {
  return __scoped_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
static __device__ __forceinline__ uint64_t atomicAdd(uint64_t* place, uint64_t value) {
  return __scoped_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
static __device__ __forceinline__ float atomicAdd(float* place, float value) {
  return __scoped_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#endif  // ROCm's wrapper

#if defined(__NVPTX__)
#include "hip/lanes_nvidia.h"
#else
#include "hip/lanes_amd.h"
#endif

#endif  // LANEWISE_HIP_DEVICE_H_
