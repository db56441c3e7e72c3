// SPDX-License-Identifier: Apache-2.0
// tries: always works on buffer set 0
// verdict: wrong-result
// because: never written
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int, cudaStream_t stream) {
  return honest(state, 0, stream);
}

// cuco: evolve end
