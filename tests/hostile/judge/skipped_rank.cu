// SPDX-License-Identifier: Apache-2.0
// tries: rank 1 leaves its part to the others
// verdict: deadlock
// because: never called by rank 1
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  return state.context.rank == 1 ? 0 : honest(state, set, stream);
}

// cuco: evolve end
