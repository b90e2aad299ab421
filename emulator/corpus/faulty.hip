// Kernels with one mistake each, for the checker to find.

#include <cstdint>

#include "hip/device.h"

extern "C" __global__ void ReadsUnwrittenRegister(uint32_t* out) {
  uint32_t value;
  asm volatile("v_add_u32 %0, v77, v78" : "=v"(value));
  out[threadIdx.x] = value;
}

extern "C" __global__ void StoresUnwrittenRegister(uint32_t* out) {
  uint32_t value;
  asm volatile("v_mov_b32 %0, v77" : "=v"(value));
  out[threadIdx.x] = value;
}

extern "C" __global__ void ReadsUnwrittenScalar(uint32_t* out) {
  uint32_t value;
  asm volatile("s_add_u32 %0, s77, 1" : "=s"(value) : : "scc");
  out[threadIdx.x] = value;
}

extern "C" __global__ void ReadsUnwrittenLds(uint32_t* out) {
  __shared__ uint32_t local[128];
  local[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = local[threadIdx.x + 40];
}

extern "C" __global__ void RacesInLds(uint32_t* out) {
  __shared__ uint32_t local[128];
  local[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = *const_cast<volatile uint32_t*>(&local[127 - threadIdx.x]);
}

// Wave 1 writes what wave 0 reads.
extern "C" __global__ void OverwritesWhatOthersRead(uint32_t* out) {
  __shared__ uint32_t local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x < 64) {
    out[threadIdx.x] = local[threadIdx.x];
  } else {
    local[threadIdx.x - 64] = 1;
  }
}

extern "C" __global__ void ReadsPastTheEnd(const uint32_t* in, uint32_t* out) {
  out[threadIdx.x] = in[threadIdx.x + 4];
}

extern "C" __global__ void WritesThroughNull(const uint32_t*, uint32_t*) {
  *static_cast<volatile uint32_t*>(nullptr) = 1;
}

extern "C" __global__ void ReadsLdsPastTheEnd(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t local[64];
  local[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = local[in[threadIdx.x] + 4000];
}

extern "C" __global__ void MisalignedLanes(const uint32_t* in, uint32_t* out) {
  out[threadIdx.x] =
      *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(in + threadIdx.x / 2) + 2);
}

extern "C" __global__ void MisalignedLds(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t local[128];
  local[threadIdx.x] = local[threadIdx.x + 64] = in[threadIdx.x];
  __syncthreads();
  uint64_t value;
  asm volatile("ds_read_b64 %0, %1\ns_waitcnt lgkmcnt(0)"
               : "=v"(value)
               : "v"((__attribute__((address_space(3))) char*)((char*)&local[threadIdx.x] + 2))
               : "memory");
  out[threadIdx.x] = static_cast<uint32_t>(value);
}

extern "C" __global__ void Misaligned(const uint32_t* in, uint32_t* out) {
  out[threadIdx.x] = *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(in) + 2);
}

extern "C" __global__ void UsesLoadTooEarly(const uint32_t* in, uint32_t* out) {
  uint32_t value;
  asm volatile(
      "global_load_dword %0, %1, off\n"
      "v_add_u32 %0, 1, %0\n"
      "s_waitcnt vmcnt(0)"
      : "=&v"(value)
      : "v"(in + threadIdx.x));
  out[threadIdx.x] = value;
}

extern "C" __global__ void OverwritesLoadInFlight(const uint32_t* in, uint32_t* out) {
  uint32_t value;
  asm volatile(
      "global_load_dword %0, %1, off\n"
      "v_mov_b32 %0, 1\n"
      "s_waitcnt vmcnt(0)"
      : "=&v"(value)
      : "v"(in + threadIdx.x));
  out[threadIdx.x] = value;
}

extern "C" __global__ void UsesScalarLoadTooEarly(const uint32_t* in, uint32_t* out) {
  uint32_t value;
  asm volatile(
      "s_load_dword %0, %1, 0x0\n"
      "s_add_u32 %0, %0, 1\n"
      "s_waitcnt lgkmcnt(0)"
      : "=&s"(value)
      : "s"(in)
      : "scc");
  out[threadIdx.x] = value;
}

extern "C" __global__ void UsesLdsReadTooEarly(uint32_t* out) {
  __shared__ uint32_t local[64];
  local[threadIdx.x] = threadIdx.x;
  __syncthreads();
  uint32_t value;
  asm volatile(
      "ds_read_b32 %0, %1\n"
      "v_add_u32 %0, 1, %0\n"
      "s_waitcnt lgkmcnt(0)"
      : "=&v"(value)
      : "v"((__attribute__((address_space(3))) uint32_t*)&local[threadIdx.x])
      : "memory");
  out[threadIdx.x] = value;
}

// Two loads, of which only the first is awaited: the second one is used.
extern "C" __global__ void AwaitsTooFew(const uint32_t* in, uint32_t* out) {
  uint32_t first, second;
  asm volatile(
      "global_load_dword %0, %2, off\n"
      "global_load_dword %1, %2, off offset:4\n"
      "s_waitcnt vmcnt(1)\n"
      "v_add_u32 %0, 1, %0\n"
      "v_add_u32 %1, 1, %1\n"
      "s_waitcnt vmcnt(0)"
      : "=&v"(first), "=&v"(second)
      : "v"(in));
  out[threadIdx.x] = first + second;
}

extern "C" __global__ void ReadsLdsBeforeItArrives(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t local[64];
  uint32_t value;
  asm volatile(
      "s_mov_b32 m0, %1\n"
      "s_nop 0\n"
      "global_load_lds_dword %2, off\n"
      "ds_read_b32 %0, %3\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)"
      : "=&v"(value)
      : "s"((__attribute__((address_space(3))) uint32_t*)local), "v"(in + threadIdx.x),
        "v"((__attribute__((address_space(3))) uint32_t*)&local[threadIdx.x])
      : "memory");
  out[threadIdx.x] = value;
}

extern "C" __global__ void Traps(uint32_t* out) {
  out[threadIdx.x] = 1;
  __builtin_trap();
}

extern "C" __global__ void HoldsNoInstruction(uint32_t* out) {
  out[threadIdx.x] = 1;
  asm volatile(".long 0xffffffff");
}

extern "C" __global__ void WritesScratchPastTheEnd(const uint32_t* in, uint32_t* out) {
  volatile uint32_t local[4];
  local[0] = 1;
  local[in[threadIdx.x] + 100000] = 2;
  out[threadIdx.x] = local[0];
}

// No mistake: partly written registers are moved, spilled and selected, never computed with.
extern "C" __global__ void CopiesAreNoUse(uint32_t* out) {
  uint32_t value;
  asm volatile(
      "s_mov_b64 vcc, 5\n"
      "v_mov_b32 v90, v91\n"
      "v_cndmask_b32 v92, v90, 5, vcc\n"
      "v_mov_b32 %0, 7"
      : "=v"(value)
      :
      : "v90", "v92", "vcc");
  out[threadIdx.x] = value;
}

// No mistake: the tail of a row that a select drops is read from LDS that nobody wrote.
extern "C" __global__ void DropsUnwrittenLds(uint32_t* out) {
  __shared__ uint32_t local[128];
  local[threadIdx.x] = threadIdx.x;
  __syncthreads();
  uint32_t value;
  asm volatile(
      "ds_read_b32 %0, %1\n"
      "v_cmp_gt_u32 vcc, 24, %2\n"
      "s_waitcnt lgkmcnt(0)\n"
      "v_cndmask_b32 %0, 7, %0, vcc"
      : "=&v"(value)
      : "v"((__attribute__((address_space(3))) uint32_t*)&local[threadIdx.x + 40]), "v"(threadIdx.x)
      : "memory", "vcc");
  out[threadIdx.x] = value;
}

// No mistake: both waves write the same words.
extern "C" __global__ void WritesTheSameInLds(uint32_t* out) {
  __shared__ uint32_t local[64];
  local[threadIdx.x % 64] = 3 * (threadIdx.x % 64);
  __syncthreads();
  out[threadIdx.x] = local[threadIdx.x % 64];
}

// The waves write different words to the same places.
extern "C" __global__ void WritesDifferentlyInLds(uint32_t* out) {
  __shared__ uint32_t local[64];
  local[threadIdx.x % 64] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = local[threadIdx.x % 64];
}

// No mistake: LDS returns in order, the second read is the later one.
extern "C" __global__ void ReadsLdsTwiceIntoARegister(uint32_t* out) {
  __shared__ uint32_t local[64];
  local[threadIdx.x] = threadIdx.x;
  __syncthreads();
  uint32_t value;
  asm volatile(
      "ds_read_b32 %0, %1\n"
      "ds_read_b32 %0, %1\n"
      "s_waitcnt lgkmcnt(0)"
      : "=&v"(value)
      : "v"((__attribute__((address_space(3))) uint32_t*)&local[threadIdx.x])
      : "memory");
  out[threadIdx.x] = value;
}

// No mistake: the conversion keeps the other half, which nobody has written and nobody reads.
extern "C" __global__ void ConvertsIntoAHalf(uint32_t* out) {
  uint32_t value;
  asm volatile(
      "v_cvt_pk_fp8_f32 v90, 1.0, 2.0\n"
      "v_and_b32 %0, 0xffff, v90"
      : "=v"(value)
      :
      : "v90");
  out[threadIdx.x] = value;
}
