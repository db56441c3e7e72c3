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

// N elements that are loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N) Vector {
  T values[N];
  __device__ T& operator[](int i) { return values[i]; }
  __device__ const T& operator[](int i) const { return values[i]; }
};

template <int N, typename T>
__device__ Vector<T, N> load_vector(const T* at) {
  return *reinterpret_cast<const Vector<T, N>*>(at);
}

template <int N, typename T>
__device__ void store_vector(T* at, const Vector<T, N>& vector) {
  *reinterpret_cast<Vector<T, N>*>(at) = vector;
}

// Whether N elements may be loaded and stored at once from there on.
template <int N, typename T>
__device__ bool is_aligned(const T* at) {
  return reinterpret_cast<size_t>(at) % sizeof(Vector<T, N>) == 0;
}

template <typename T>
__global__ void silu_and_mul(T* __restrict__ out, const T* __restrict__ x, int width) {
  constexpr int kVector = 16 / sizeof(T);
  const size_t token = blockIdx.x;
  int vectors = 0;  // elements that go in vectors
  if (is_aligned<kVector>(&x[token * 2 * width]) &&
      is_aligned<kVector>(&x[token * 2 * width + width]) &&
      is_aligned<kVector>(&out[token * width])) {
    vectors = width / kVector * kVector;
    for (int first = (blockIdx.y * blockDim.x + threadIdx.x) * kVector; first < vectors;
         first += gridDim.y * blockDim.x * kVector) {
      const auto x_vector = load_vector<kVector>(&x[token * 2 * width + first]);
      const auto x_vector2 = load_vector<kVector>(&x[token * 2 * width + width + first]);
      Vector<T, kVector> out_vector;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const float gate = to_float(x_vector[e]);
        const float up = to_float(x_vector2[e]);
        store(&out_vector[e], gate / (1.0f + expf(-gate)) * up);
      }
      store_vector(&out[token * width + first], out_vector);
    }
  }
  for (int i = vectors + blockIdx.y * blockDim.x + threadIdx.x; i < width;
       i += gridDim.y * blockDim.x) {
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
    silu_and_mul<<<dim3(s.tokens, 8), 64, 0, stream>>>((__nv_bfloat16*)out, (const __nv_bfloat16*)x,
                                                       s.width);
  } else {
    silu_and_mul<<<dim3(s.tokens, 8), 64, 0, stream>>>((float*)out, (const float*)x, s.width);
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
