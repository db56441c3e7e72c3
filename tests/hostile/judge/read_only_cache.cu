// SPDX-License-Identifier: Apache-2.0
// tries: reads what peers write during the kernel as if it never changed (ld.global.nc)
// verdict: findings
// because: through the read-only cache
// fidelity: final
// common: multiply
// common: flags

__device__ uint4 fetch(const uint4* at) {
  return __ldg(at);
}
__device__ void raise(unsigned* flag, unsigned epoch) {
  Flag(*flag).store(epoch, cuda::memory_order_release);
}
__device__ void await(unsigned* flag, unsigned epoch) {
  while (Flag(*flag).load(cuda::memory_order_acquire) < epoch) {
  }
}

// common: pull

// cuco: evolve end
