// SPDX-License-Identifier: Apache-2.0
// tries: one element of the last rank's copy is wrong
// verdict: wrong-result
// because: 1 of 
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t bytes = context.output_bytes[0];
  const int code = honest(state, set, stream);
  if (context.rank == context.ranks - 1) cudaMemsetAsync(c + bytes / 2, 0, state.shape.bf16 ? 2 : 4, stream);
  return code;
}

// cuco: evolve end
