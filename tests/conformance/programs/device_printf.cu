// SPDX-License-Identifier: Apache-2.0
// printf from the device: every kind of conversion, in order within a thread.
#include "check.h"

__global__ void speak(int n) {
  printf("int %d unsigned %u hex %x char %c string %s percent %%\n", n, 4000000000U, 255, 'z', "text");
  printf("float %.3f double %8.2f exponent %e pointer %d\n", 1.5F, 2.25, 1e10, sizeof(void*) == 8);
  printf("long %lld unsigned long %llu size %zu\n", -5000000000LL, 18000000000000000000ULL, sizeof(double));
}

int main() {
  speak<<<1, 1>>>(-42);
  CHECK(cudaDeviceSynchronize());
  std::fflush(stdout);
  return verdict(true, "printed");
}
