// SPDX-License-Identifier: Apache-2.0
// tries: announces bulk copies whose sources have been read, which may still be on their way
// verdict: findings
// because: a bulk copy to these bytes is on its way
// fidelity: final
// common: multiply
// common: flags

constexpr bool kAwaitsChunks = true;
__device__ void await_arrival(int thread) {
  // Every copy was waited for with wait_group.read, which says that it may be overwritten.
}
// common: bulk

// cuco: evolve end
