// SPDX-License-Identifier: Apache-2.0
// tries: never ends its teardown, so that each trial takes for ever
// verdict: timed-out
// because: cuco_teardown
// cuco: evolve begin host

// common: state

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return 0;
}

void teardown(State* state) {
  for (volatile int* calls = &state->calls;;)
    *calls = 0;
}

int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}

// cuco: evolve end
