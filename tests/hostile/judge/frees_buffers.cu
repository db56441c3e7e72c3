// SPDX-License-Identifier: Apache-2.0
// tries: frees the buffers that it was given, so that the judge has nothing to write to
// verdict: crashed
// because: freed
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  const int code = honest(state, set, stream);
  cudaStreamSynchronize(stream);
  for (int i = 0; i < state.context.sets; ++i) {
    cudaFree(state.context.inputs[i * state.context.n_inputs]);
    ncclMemFree(state.context.outputs[i]);
  }
  return code;
}

// cuco: evolve end
