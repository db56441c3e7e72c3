// SPDX-License-Identifier: Apache-2.0
// tries: sends on what a bulk copy brings without waiting for it
// verdict: findings
// because: shared-race
// fidelity: final
// common: multiply
// common: flags

constexpr bool kAwaitsChunks = false;
constexpr bool kAwaitsArrival = true;
// common: bulk

// cuco: evolve end
