// SPDX-License-Identifier: Apache-2.0
// tries: more static shared memory than ptxas allows: no GPU would load the program
// verdict: build-failed
// because: uses too much shared data
// cuco: evolve begin host

// common: state

// common: setup

__global__ void large(unsigned* to) {
  __shared__ unsigned s[13000];
  for (int i = threadIdx.x; i < 13000; i += 32) s[i] = i;
  __syncthreads();
  if (s[threadIdx.x * 7] == 0x12345678) *to = 1;
}
int run(State& state, int set, cudaStream_t stream) {
  large<<<1, 32, 0, stream>>>((unsigned*)state.context.outputs[set * state.context.n_outputs]);
  return honest(state, set, stream);
}

// cuco: evolve end
