// SPDX-License-Identifier: Apache-2.0
// tries: a kernel of the set-up that waits for inputs and starts before the clock does
// verdict: deadlock
// because: await_input
// cuco: evolve begin host

// common: state

__global__ void await_input(const volatile unsigned* input, float* out) {
  const unsigned before = *input;
  while (*input == before) {
  }
  out[0] = 1;
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  await_input<<<1, 1, 0, side>>>((const unsigned*)context.inputs[0], (float*)context.outputs[0]);
  return 0;
}

void teardown(State* state) {
  delete state;
}

int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}

// cuco: evolve end
