// SPDX-License-Identifier: Apache-2.0
// tries: announces bulk copies when all groups but the last are there
// verdict: findings
// because: a bulk copy to these bytes is on its way
// fidelity: final
// common: multiply
// common: flags

constexpr bool kAwaitsChunks = true;
__device__ void await_arrival(int thread) {
  if (thread == 0) asm volatile("cp.async.bulk.wait_group 1;" ::: "memory");
}
// common: bulk

// cuco: evolve end
