// SPDX-License-Identifier: Apache-2.0
// tries: runs out of memory and counts that as a skip
// verdict: wrong-result
// because: never written
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  void* scratch = nullptr;
  if (cudaMalloc(&scratch, size_t{1} << 45) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return honest(state, set, stream);
}

// cuco: evolve end
