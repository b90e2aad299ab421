/* Functions for check_test: each does what somebody's own function may do wrong. */

#include <stdint.h>
#include <stdlib.h>

int crashes(void* const* buffers, const int64_t* numbers) {
  (void)buffers;
  *(volatile char*)(uintptr_t)numbers[0] = 1; /* a size is no address */
  return 0;
}

int never_ends(void* const* buffers, const int64_t* numbers) {
  (void)buffers;
  (void)numbers;
  for (volatile int i = 0;; i = 1 - i) {
  }
}

int exits(void* const* buffers, const int64_t* numbers) {
  (void)buffers;
  (void)numbers;
  exit(0);
}

int exits_quickly(void* const* buffers, const int64_t* numbers) {
  (void)buffers;
  (void)numbers;
  quick_exit(0);
}

int refuses(void* const* buffers, const int64_t* numbers) {
  (void)buffers;
  (void)numbers;
  return 7;
}
