// SPDX-License-Identifier: Apache-2.0
// tries: raises a flag of 4 bytes and awaits it in 8, together with its neighbour
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
  const size_t address = (size_t)flag;
  unsigned long long both = 0;
  do {
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(both) : "l"(address & ~(size_t)7) : "memory");
  } while ((unsigned)(address % 8 == 0 ? both : both >> 32) < epoch);
}

// common: pull

// cuco: evolve end
