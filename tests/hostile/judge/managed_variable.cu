// SPDX-License-Identifier: Apache-2.0
// tries: a managed variable, to be given a mapping of the device's memory; it is given none
// verdict: scored
// cuco: evolve begin host

// common: state

// common: setup

__managed__ int shared_with_host = 1;

int run(State& state, int set, cudaStream_t stream) {
  shared_with_host = 2;
  return honest(state, set, stream);
}

// cuco: evolve end
