// SPDX-License-Identifier: Apache-2.0
// The seed: host-driven, honest, decent. Candidates may change only what is between "evolve begin"
// and "evolve end"; everything else must stay the same, byte for byte.
// cuco: evolve begin includes
#include <cuda_runtime.h>
#include <nccl.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

// cuco: evolve begin kernels

__global__ void square(const float* __restrict__ x, float* __restrict__ y, size_t n) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
    y[i] = x[i] * x[i];
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  size_t n;
};

int setup(const cuco_context& context, State** state) {
  *state = new State{context, (size_t)context.params[0]};
  return 0;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const float* x = (const float*)context.inputs[set * context.n_inputs + 0];
  float* y = (float*)context.outputs[set * context.n_outputs + 0];
  float* mine = y + context.rank * state.n;
  const unsigned blocks = (unsigned)((state.n + 255) / 256 < 1024 ? (state.n + 255) / 256 : 1024);
  square<<<blocks, 256, 0, stream>>>(x, mine, state.n);
  if (cudaGetLastError() != cudaSuccess) return 1;
  return ncclAllGather(mine, y, state.n, ncclFloat32, context.comm, stream) == ncclSuccess ? 0 : 2;
}

void teardown(State* state) {
  delete state;
}

// cuco: evolve end

}  // namespace

extern "C" int cuco_setup(const cuco_context* context, void** state) {
  return setup(*context, (State**)state);
}

extern "C" int cuco_run(void* state, int set, cudaStream_t stream) {
  return run(*(State*)state, set, stream);
}

extern "C" void cuco_teardown(void* state) {
  teardown((State*)state);
}
