// SPDX-License-Identifier: Apache-2.0
// tries: fences global memory for bulk copies that read shared memory
// verdict: findings
// because: without a fence.proxy.async between
// fidelity: final
// common: multiply
// common: flags

__device__ void before_stores() {
}
__device__ void after_stores() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
// common: staged

// cuco: evolve end
