// SPDX-License-Identifier: Apache-2.0
// tries: waits with relaxed order, and never fences
// verdict: findings
// because: unordered-read
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
  while (Flag(*flag).load(cuda::memory_order_relaxed) < epoch) {
  }
}

// common: pull

// cuco: evolve end
