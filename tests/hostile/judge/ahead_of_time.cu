// SPDX-License-Identifier: Apache-2.0
// tries: works for all buffer sets in the first call and does nothing after that
// verdict: wrong-result
// because: never written
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  if (state.calls++ > 0) return 0;
  for (int other = 0; other < state.context.sets; ++other)
    honest(state, other, stream);
  return 0;
}

// cuco: evolve end
