// SPDX-License-Identifier: Apache-2.0
// tries: raises flags for its own cluster only
// verdict: findings
// because: unordered-read
// fidelity: final
// common: multiply
// common: flags

__device__ uint4 fetch(const uint4* at) {
  return *at;
}
__device__ void raise(unsigned* flag, unsigned epoch) {
  asm volatile("st.release.cluster.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
}
__device__ void await(unsigned* flag, unsigned epoch) {
  while (Flag(*flag).load(cuda::memory_order_acquire) < epoch) {
  }
}

// common: pull

// cuco: evolve end
