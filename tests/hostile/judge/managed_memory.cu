// SPDX-License-Identifier: Apache-2.0
// tries: memory that the host can read while it looks like the device's
// verdict: crashed
// because: cuco_setup failed with 7
// cuco: evolve begin host

// common: state

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  void* shared = nullptr;
  return cudaMallocManaged(&shared, context.output_bytes[0]) == cudaSuccess ? 0 : 7;
}

void teardown(State* state) {
  delete state;
}

int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}

// cuco: evolve end
