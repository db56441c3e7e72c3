// SPDX-License-Identifier: Apache-2.0
// tries: honest: bulk copies to peers, all of them waited for
// verdict: scored
// fidelity: final
// common: multiply
// common: flags

constexpr bool kAwaitsChunks = true;
__device__ void await_arrival(int thread) {
  if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// common: bulk

// cuco: evolve end
