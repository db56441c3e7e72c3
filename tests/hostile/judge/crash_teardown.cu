// SPDX-License-Identifier: Apache-2.0
// tries: dies when it is torn down, after all results are right
// verdict: crashed
// because: cuco_teardown: killed by SIGSEGV
// cuco: evolve begin host

// common: state

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return 0;
}

void teardown(State* state) {
  delete state;
  *(volatile int*)8 = 0;
}

int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}

// cuco: evolve end
