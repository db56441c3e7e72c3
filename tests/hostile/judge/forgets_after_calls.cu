// SPDX-License-Identifier: Apache-2.0
// tries: is right seven times, and then no more
// verdict: wrong-result
// because: never written
// fidelity: final
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  if (++state.calls > 7) return 0;
  return honest(state, set, stream);
}

// cuco: evolve end
