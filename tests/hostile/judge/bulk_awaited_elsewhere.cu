// SPDX-License-Identifier: Apache-2.0
// tries: lets another thread wait for bulk copies, which has begun none
// verdict: findings
// because: a bulk copy to these bytes is on its way
// fidelity: final
// common: multiply
// common: flags

constexpr bool kAwaitsChunks = true;
__device__ void await_arrival(int thread) {
  if (thread == 1) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// common: bulk

// cuco: evolve end
