// SPDX-License-Identifier: Apache-2.0
// tries: computes its own rows and communicates nothing
// verdict: wrong-result
// because: never written
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const size_t bytes = context.output_bytes[0];
  const Shape& s = state.shape;
  char* mine = c + context.rank * bytes / context.ranks;
  return multiply(s, context.inputs[set * context.n_inputs],
                  context.inputs[set * context.n_inputs + 1], mine, stream);
}

// cuco: evolve end
