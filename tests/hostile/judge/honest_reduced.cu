// SPDX-License-Identifier: Apache-2.0
// tries: honest: bulk reductions into what each rank has cleared before it says that it is there
// verdict: scored
// fidelity: final
// common: multiply
// common: flags

#define SEND "cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b32"
#define CLEAR

constexpr bool kAwaitsChunks = true;
__device__ void await_arrival(int thread) {
  if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// common: bulk

// cuco: evolve end
