// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// out[t, i] = silu(x[t, i]) * x[t, width + i], silu(g) = g / (1 + exp(-g)).
// The plain version: one block per token, one element per thread and step. width is a multiple
// of 8.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

struct Shape {
  int tokens, width;
  bool bf16;
};

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
__global__ void silu_and_mul(T* __restrict__ out, const T* __restrict__ x, int width) {
  const size_t token = blockIdx.x;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    const float gate = to_float(x[token * 2 * width + i]);
    const float up = to_float(x[token * 2 * width + width + i]);
    store(&out[token * width + i], gate / (1.0f + expf(-gate)) * up);
  }
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
};

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return 0;
}

int run(State& state, int set, cudaStream_t stream) {
  const Shape& s = state.shape;
  const void* x = state.context.inputs[set];
  void* out = state.context.outputs[set];
  if (s.bf16) {
    silu_and_mul<<<s.tokens, 256, 0, stream>>>((__nv_bfloat16*)out, (const __nv_bfloat16*)x,
                                               s.width);
  } else {
    silu_and_mul<<<s.tokens, 256, 0, stream>>>((float*)out, (const float*)x, s.width);
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
