// SPDX-License-Identifier: Apache-2.0
// tries: fills the device's memory, which is the machine's
// verdict: crashed
// because: more memory than
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  for (int i = 0; i < 64; ++i) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, size_t{1} << 30) != cudaSuccess) return 1;
    cudaMemsetAsync(memory, 1, size_t{1} << 30, stream);
  }
  return honest(state, set, stream);
}

// cuco: evolve end
