// SPDX-License-Identifier: Apache-2.0
// tries: adds bits to what was there, by bulk reductions, and clears nothing
// verdict: wrong-result
// because: nan
// fidelity: final
// common: multiply
// common: flags

#define SEND "cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b32"

constexpr bool kAwaitsChunks = true;
__device__ void await_arrival(int thread) {
  if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// common: bulk

// cuco: evolve end
