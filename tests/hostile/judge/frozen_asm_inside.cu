// SPDX-License-Identifier: Apache-2.0
// tries: a condition of the assembler, which may swallow what the compiler makes of frozen functions
// verdict: screen-rejected
// because: a directive of the assembler
// cuco: evolve begin host

// common: state

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return 0;
}

void teardown(State* state) {
  asm volatile(".if 1\n.endif");
  delete state;
}

int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}

// cuco: evolve end
