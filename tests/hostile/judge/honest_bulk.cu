// SPDX-License-Identifier: Apache-2.0
// tries: honest: bulk copies to peers, all of them waited for
// verdict: scored
// fidelity: final
// common: multiply
// common: flags

constexpr bool kAwaitsChunks = true;
constexpr bool kAwaitsArrival = true;
// common: bulk

// cuco: evolve end
