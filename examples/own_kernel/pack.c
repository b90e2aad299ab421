/* A function of somebody's own: rows [N][K] to gfx942/dense order. buffers: in, out. numbers: N, K.
 * Returns 0, or 1 where N or K do not fit. */

#include <stdint.h>

int my_pack_dense(void* const* buffers, const int64_t* numbers) {
  const uint8_t* in = buffers[0];
  uint8_t* out = buffers[1];
  const int64_t rows = numbers[0], columns = numbers[1];
  if (rows % 16 != 0 || columns % 128 != 0) return 1;
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t k = 0; k < columns; ++k) {
      const int64_t step = (n / 16) * (columns / 128) + k / 128;
      const int64_t half = k / 64 % 2, block = k / 32 % 2, group = k / 8 % 4;
      out[2048 * step + 1024 * half + 256 * group + 16 * (n % 16) + 8 * block + k % 8] =
          in[n * columns + k];
    }
  }
  return 0;
}
