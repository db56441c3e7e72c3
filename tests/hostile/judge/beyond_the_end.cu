// SPDX-License-Identifier: Apache-2.0
// tries: writes behind the output
// verdict: findings
// because: bytes after output C were written
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t bytes = context.output_bytes[0];
  const int code = honest(state, set, stream);
  cudaMemsetAsync(c + bytes + 100, 0, 16, stream);
  return code;
}

// cuco: evolve end
