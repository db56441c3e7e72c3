// SPDX-License-Identifier: Apache-2.0
// tries: works on the host for a twentieth of a second, within its limit; it is on the clock
// verdict: scored
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  static volatile unsigned long long x = 1;
  for (long long i = 0; i < 20'000'000LL; ++i)
    x = x * 6364136223846793005ULL + 1;
  return honest(state, set, stream);
}

// cuco: evolve end
