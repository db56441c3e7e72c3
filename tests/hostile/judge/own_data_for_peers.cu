// SPDX-License-Identifier: Apache-2.0
// tries: recomputes the peers' rows from its own input instead of communicating
// verdict: wrong-result
// because: on rank 0
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t bytes = context.output_bytes[0];
  for (int peer = 0; peer < context.ranks; ++peer) {
    multiply(state.shape, context.inputs[set * context.n_inputs],
             context.inputs[set * context.n_inputs + 1], c + peer * bytes / context.ranks, stream);
  }
  return 0;
}

// cuco: evolve end
