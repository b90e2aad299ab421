#ifndef LANEWISE_THIRD_PARTY_HIP_API_H_
#define LANEWISE_THIRD_PARTY_HIP_API_H_

// HIP's runtime API for host code: include this in place of <hip/hip_runtime_api.h>.

#include <hip/hip_runtime_api.h>

// HIP 5's headers define this keyword as a macro for host compilers too, and GCC 16's standard
// library spells an attribute that way.
#ifdef __noinline__
#undef __noinline__
#endif

#endif  // LANEWISE_THIRD_PARTY_HIP_API_H_
