// SPDX-License-Identifier: Apache-2.0
// tries: works in the first iteration only
// verdict: wrong-result
// because: elements are wrong in iteration 1
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  return state.calls++ == 0 ? honest(state, set, stream) : 0;
}

// cuco: evolve end
