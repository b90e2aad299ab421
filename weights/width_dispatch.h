#ifndef LANEWISE_WEIGHTS_WIDTH_DISPATCH_H_
#define LANEWISE_WEIGHTS_WIDTH_DISPATCH_H_

// Which instruction set moves the tiles of a plan: on x86 the first whose registers are as wide as
// the plan's, so that every width is compiled once and not once more for every wider instruction
// set. Of registers of 64 bytes, and of everything elsewhere, Highway's choice on this machine.
//
//   LANEWISE_OF_WIDTH(plan.vector_bytes, PackBlockImpl)(args);   // after HWY_EXPORT, in lanewise

#include "hwy/highway.h"

#if HWY_TARGETS & HWY_SSE4
#define LANEWISE_OF_16_BYTES(FUNCTION) N_SSE4::FUNCTION
#else
#define LANEWISE_OF_16_BYTES(FUNCTION) HWY_DYNAMIC_DISPATCH(FUNCTION)
#endif
#if HWY_TARGETS & HWY_AVX2
#define LANEWISE_OF_32_BYTES(FUNCTION) N_AVX2::FUNCTION
#else
#define LANEWISE_OF_32_BYTES(FUNCTION) HWY_DYNAMIC_DISPATCH(FUNCTION)
#endif

#define LANEWISE_OF_WIDTH(VECTOR_BYTES, FUNCTION)          \
  ((VECTOR_BYTES) == 16   ? LANEWISE_OF_16_BYTES(FUNCTION) \
   : (VECTOR_BYTES) == 32 ? LANEWISE_OF_32_BYTES(FUNCTION) \
                          : HWY_DYNAMIC_DISPATCH(FUNCTION))

#endif  // LANEWISE_WEIGHTS_WIDTH_DISPATCH_H_
