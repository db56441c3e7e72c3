// SPDX-License-Identifier: Apache-2.0
// tries: fences for bulk copies before it stores, not behind
// verdict: findings
// because: without a fence.proxy.async between
// fidelity: final
// common: multiply
// common: flags

__device__ void before_stores() {
  asm volatile("fence.proxy.async;" ::: "memory");
}
__device__ void after_stores() {
}
// common: staged

// cuco: evolve end
