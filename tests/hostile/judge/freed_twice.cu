// SPDX-License-Identifier: Apache-2.0
// tries: frees its scratch memory twice at the end, when another may have the address
// verdict: findings
// because: already freed
// fidelity: final
// cuco: evolve begin host

// common: state

void* scratch = nullptr;

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return cudaMalloc(&scratch, 1 << 20) == cudaSuccess ? 0 : 1;
}

void teardown(State* state) {
  cudaFree(scratch);
  cudaFree(scratch);
  delete state;
}

int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}

// cuco: evolve end
