// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// new_residual = x + residual; out = new_residual / rms(new_residual) * weight, row by row.
// The plain version: one block per token, one element per thread and step, the sum of squares
// reduced in shared memory. hidden is a multiple of 8.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

struct Shape {
  int tokens, hidden;
  bool bf16;
};

constexpr float kEpsilon = 1e-6f;

// cuco: evolve begin kernels

__device__ float to_float(float v) {
  return v;
}
__device__ float to_float(__nv_bfloat16 v) {
  return __bfloat162float(v);
}
__device__ void store(float* at, float v) {
  *at = v;
}
__device__ void store(__nv_bfloat16* at, float v) {
  *at = __float2bfloat16(v);
}

template <typename T>
__global__ void fused_add_rmsnorm(
    T* out, T* new_residual, const T* x, const T* residual, const T* weight, int hidden) {
  __shared__ float partial[256];
  const size_t row = (size_t)blockIdx.x * hidden;
  float squares = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    const float sum = to_float(x[row + i]) + to_float(residual[row + i]);
    store(&new_residual[row + i], sum);
    squares += sum * sum;
  }
  partial[threadIdx.x] = squares;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  const float factor = 1.0f / sqrtf(partial[0] / hidden + kEpsilon);
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    const float sum = to_float(x[row + i]) + to_float(residual[row + i]);
    store(&out[row + i], sum * factor * to_float(weight[i]));
  }
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
};

template <typename T>
void launch(const State& state, int set, cudaStream_t stream) {
  void* const* in = state.context.inputs + set * state.context.n_inputs;
  void* const* out = state.context.outputs + set * state.context.n_outputs;
  fused_add_rmsnorm<<<state.shape.tokens, 256, 0, stream>>>((T*)out[0], (T*)out[1], (const T*)in[0],
                                                            (const T*)in[1], (const T*)in[2],
                                                            state.shape.hidden);
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return 0;
}

int run(State& state, int set, cudaStream_t stream) {
  if (state.shape.bf16) {
    launch<__nv_bfloat16>(state, set, stream);
  } else {
    launch<float>(state, set, stream);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}

void teardown(State* state) {
  delete state;
}

// cuco: evolve end

}  // namespace

extern "C" int cuco_setup(const cuco_context* context, void** state) {
  const Shape shape = {(int)context->params[0], (int)context->params[1], context->params[2] != 0};
  return setup(*context, shape, (State**)state);
}

extern "C" int cuco_run(void* state, int set, cudaStream_t stream) {
  return run(*(State*)state, set, stream);
}

extern "C" void cuco_teardown(void* state) {
  teardown((State*)state);
}
