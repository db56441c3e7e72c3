// SPDX-License-Identifier: Apache-2.0
// tries: a managed variable, whose mapping would give the host all of the device's memory
// verdict: crashed
// cuco: evolve begin host

// common: state

// common: setup

__managed__ int shared_with_host = 1;

int run(State& state, int set, cudaStream_t stream) {
  shared_with_host = 2;
  return honest(state, set, stream);
}

// cuco: evolve end
