// SPDX-License-Identifier: Apache-2.0
// tries: raises a flag of 4 bytes and awaits the 2 of them that change
// verdict: findings
// because: a flag is used in two sizes
// fidelity: final
// common: multiply
// common: flags

__device__ uint4 fetch(const uint4* at) {
  return *at;
}
__device__ void raise(unsigned* flag, unsigned epoch) {
  Flag(*flag).store(epoch, cuda::memory_order_release);
}
__device__ void await(unsigned* flag, unsigned epoch) {
  unsigned short low = 0;
  do {
    asm volatile("ld.acquire.sys.u16 %0, [%1];" : "=h"(low) : "l"(flag) : "memory");
  } while (low < epoch);
}

// common: pull

// cuco: evolve end
