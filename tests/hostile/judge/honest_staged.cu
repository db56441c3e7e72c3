// SPDX-License-Identifier: Apache-2.0
// tries: honest: stores, then a fence for bulk copies, then the copies
// verdict: scored
// fidelity: final
// common: multiply
// common: flags

__device__ void before_stores() {
}
__device__ void after_stores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// common: staged

// cuco: evolve end
