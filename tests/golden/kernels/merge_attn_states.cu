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
__global__ void merge(
    T* v, float* s, const T* va, const float* sa, const T* vb, const float* sb, int size,
    unsigned blocks) {
  const unsigned block = blockIdx.x * blockDim.y + threadIdx.y;
  if (block >= blocks) return;
  constexpr int kVector = 16 / sizeof(T);
  const size_t row = block;
  const float top = fmaxf(sa[row], sb[row]);
  const float wa = expf(sa[row] - top);
  const float wb = expf(sb[row] - top);
  int vectors = 0;  // elements that go in vectors
  if (is_aligned<kVector>(&va[row * size]) &&
      is_aligned<kVector>(&vb[row * size]) &&
      is_aligned<kVector>(&v[row * size])) {
    vectors = size / kVector * kVector;
    for (int first = threadIdx.x * kVector; first < vectors; first += blockDim.x * kVector) {
      const auto va_vector = load_vector<kVector>(&va[row * size + first]);
      const auto vb_vector = load_vector<kVector>(&vb[row * size + first]);
      Vector<T, kVector> v_vector;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const float a = to_float(va_vector[e]);
        const float b = to_float(vb_vector[e]);
        store(&v_vector[e], (a * wa + b * wb) / (wa + wb));
      }
      store_vector(&v[row * size + first], v_vector);
    }
  }
  for (int i = vectors + threadIdx.x; i < size; i += blockDim.x) {
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
  merge<<<(shape.tokens * shape.heads + 15) / 16, dim3(16, 16), 0, stream>>>(
      (T*)out[0], (float*)out[1], (const T*)in[0], (const float*)in[1], (const T*)in[2],
      (const float*)in[3], shape.size, shape.tokens * shape.heads);
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
