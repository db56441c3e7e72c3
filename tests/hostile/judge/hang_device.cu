// SPDX-License-Identifier: Apache-2.0
// tries: a kernel that waits for a flag that nobody sets
// verdict: deadlock
// because: nothing is pending
// cuco: evolve begin host

// common: state

// common: setup

__device__ int flag;
__global__ void wait_for_ever() {
  while (*(volatile int*)&flag == 0) {
  }
}
int run(State& state, int set, cudaStream_t stream) {
  wait_for_ever<<<1, 1, 0, stream>>>();
  return honest(state, set, stream);
}

// cuco: evolve end
