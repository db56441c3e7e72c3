// SPDX-License-Identifier: Apache-2.0
// tries: lets bulk copies read what threads have just stored
// verdict: findings
// because: without a fence.proxy.async between
// fidelity: final
// common: multiply
// common: flags

__device__ void before_stores() {
}
__device__ void after_stores() {
}
// common: staged

// cuco: evolve end
