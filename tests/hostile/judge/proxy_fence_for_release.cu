// SPDX-License-Identifier: Apache-2.0
// tries: fences with fence.proxy.async, which orders no loads and stores, before a relaxed flag
// verdict: findings
// because: unordered-read
// fidelity: final
// common: multiply
// common: flags

__device__ uint4 fetch(const uint4* at) {
  return *at;
}
__device__ void raise(unsigned* flag, unsigned epoch) {
  asm volatile("fence.proxy.async;" ::: "memory");
  Flag(*flag).store(epoch, cuda::memory_order_relaxed);
}
__device__ void await(unsigned* flag, unsigned epoch) {
  while (Flag(*flag).load(cuda::memory_order_acquire) < epoch) {
  }
}

// common: pull

// cuco: evolve end
