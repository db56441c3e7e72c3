// SPDX-License-Identifier: Apache-2.0
// tries: NaN everywhere, hoping that nothing compares unequal to it
// verdict: wrong-result
// because: nan
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  return cudaMemsetAsync(context.outputs[set * context.n_outputs], 0xFF, context.output_bytes[0],
                         stream);
}

// cuco: evolve end
