// SPDX-License-Identifier: Apache-2.0
// tries: the same plausible number everywhere
// verdict: wrong-result
// because: elements are wrong in iteration 0
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t bytes = context.output_bytes[0];
  return cudaMemsetAsync(c, 0x3f, bytes, stream);
}

// cuco: evolve end
