// SPDX-License-Identifier: Apache-2.0
// tries: resets the device, and with it everything that the judge has put there
// verdict: crashed
// because: invalid resource handle
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  honest(state, set, stream);
  cudaStreamSynchronize(stream);
  cudaDeviceReset();
  return 0;
}

// cuco: evolve end
