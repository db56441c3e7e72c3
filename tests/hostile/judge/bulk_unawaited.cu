// SPDX-License-Identifier: Apache-2.0
// tries: sends on what a bulk copy brings without waiting for it
// verdict: findings
// because: shared-race
// fidelity: final
// common: multiply
// common: flags

constexpr bool kAwaitsChunks = false;
__device__ void await_arrival(int thread) {
  if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// common: bulk

// cuco: evolve end
