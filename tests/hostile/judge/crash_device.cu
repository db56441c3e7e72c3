// SPDX-License-Identifier: Apache-2.0
// tries: a kernel that stores to an address of its own invention
// verdict: crashed
// because: nothing is mapped there in kernel
// cuco: evolve begin host

// common: state

// common: setup

__global__ void wild() {
  *(volatile int*)0x20 = 1;
}
int run(State& state, int set, cudaStream_t stream) {
  wild<<<1, 1, 0, stream>>>();
  return honest(state, set, stream);
}

// cuco: evolve end
