// SPDX-License-Identifier: Apache-2.0
// tries: announces bulk copies whose sources have been read, which may still be on their way
// verdict: findings
// fidelity: final
// common: multiply
// common: flags

constexpr bool kAwaitsChunks = true;
constexpr bool kAwaitsArrival = false;
// common: bulk

// cuco: evolve end
