// SPDX-License-Identifier: Apache-2.0
// tries: honest: constants, symbols and a pool, none of which the host can reach
// verdict: scored
// cuco: evolve begin host

// common: state

__constant__ int table[4];
__device__ int touched[4];

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  const int values[4] = {1, 2, 3, 4};
  void* address = nullptr;
  if (cudaMemcpyToSymbol(table, values, sizeof values) != cudaSuccess) return 1;
  return cudaGetSymbolAddress(&address, touched) == cudaSuccess ? 0 : 2;
}

void teardown(State* state) {
  delete state;
}

__global__ void touch() {
  touched[threadIdx.x] += table[threadIdx.x];
}

int run(State& state, int set, cudaStream_t stream) {
  void* scratch = nullptr;
  if (cudaMallocAsync(&scratch, 4096, stream) != cudaSuccess) return 1;
  touch<<<1, 4, 0, stream>>>();
  cudaFreeAsync(scratch, stream);
  return honest(state, set, stream);
}

// cuco: evolve end
