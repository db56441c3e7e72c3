// SPDX-License-Identifier: Apache-2.0
// tries: is right two hundred and fifty-five times, as an epoch of a byte is
// verdict: wrong-result
// because: never written
// fidelity: final
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  if (++state.calls % 256 == 0) return 0;
  return honest(state, set, stream);
}

// cuco: evolve end
