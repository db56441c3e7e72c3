// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// Two attentions over parts of the keys, (va, sa) and (vb, sb), s = log sum exp, merged into one:
// v = (va exp(sa) + vb exp(sb)) / (exp(sa) + exp(sb)), s = log(exp(sa) + exp(sb)).
// The plain version: one block per token and head, one thread per element. size is a multiple of 8.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

struct Shape {
  int tokens, heads, size;
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
__global__ void merge(
    T* v, float* s, const T* va, const float* sa, const T* vb, const float* sb, int size) {
  const size_t row = blockIdx.x;
  const float top = fmaxf(sa[row], sb[row]);
  const float wa = expf(sa[row] - top);
  const float wb = expf(sb[row] - top);
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    const float a = to_float(va[row * size + i]);
    const float b = to_float(vb[row * size + i]);
    store(&v[row * size + i], (a * wa + b * wb) / (wa + wb));
  }
  if (threadIdx.x == 0) s[row] = top + logf(wa + wb);
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
};

template <typename T>
void launch(const State& state, int set, cudaStream_t stream) {
  const Shape& shape = state.shape;
  void* const* in = state.context.inputs + set * state.context.n_inputs;
  void* const* out = state.context.outputs + set * state.context.n_outputs;
  merge<<<shape.tokens * shape.heads, 128, 0, stream>>>((T*)out[0], (float*)out[1], (const T*)in[0],
                                                        (const float*)in[1], (const T*)in[2],
                                                        (const float*)in[3], shape.size);
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
  const Shape shape = {(int)context->params[0], (int)context->params[1], (int)context->params[2],
                       context->params[3] != 0};
  return setup(*context, shape, (State**)state);
}

extern "C" int cuco_run(void* state, int set, cudaStream_t stream) {
  return run(*(State*)state, set, stream);
}

extern "C" void cuco_teardown(void* state) {
  teardown((State*)state);
}
