#ifndef LANEWISE_EMULATOR_CORPUS_CHEVRONS_H_
#define LANEWISE_EMULATOR_CORPUS_CHEVRONS_H_

// Host functions of chevrons.hip, which launch its kernels with <<<...>>>.

#include "third_party/hip_api.h"

namespace lanewise::hip {

// out[i] = factor * in[i] for i < n, by a kernel template.
void ScaleFloats(const float* in, float* out, float factor, int n, hipStream_t stream);
void ScaleInts(const int* in, int* out, int factor, int n, hipStream_t stream);

// out[i] = in[n - 1 - i], through n * 4 bytes of dynamic LDS; n at most 1024.
void Reverse(const int* in, int* out, int n);

// out[(z * 3 + y) * 5 + x] = (z * 3 + y) * 5 + x, over a grid of 5 x 3 x 2 workgroups of one.
void NumberGrid(int* out);

// Adds `n` work-items to the device variable, whose symbol this returns.
void CountItems(int n);
const void* CounterSymbol();

}  // namespace lanewise::hip

#endif  // LANEWISE_EMULATOR_CORPUS_CHEVRONS_H_
