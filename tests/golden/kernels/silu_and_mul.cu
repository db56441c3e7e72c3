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

// Blocks of at most `most` threads that share a row of `length` elements, of which a thread takes
// `each` at once.
inline unsigned row_parts(size_t length, size_t each, unsigned most) {
  const size_t parts = (length + each * most - 1) / (each * most);
  return parts < 1 ? 1 : (unsigned)parts;
}

// Threads of one of them, in whole warps.
inline unsigned row_threads(size_t length, size_t each, unsigned most) {
  const unsigned parts = row_parts(length, each, most);
  const size_t share = ((length + each - 1) / each + parts - 1) / parts;
  const size_t threads = (share + 31) / 32 * 32;
  return threads < 32 ? 32 : threads > most ? most : (unsigned)threads;
}

// Short rows share a block: then it has no more threads along a row than that needs.
inline dim3 row_block(size_t length, size_t each, unsigned most) {
  const size_t needed = (length + each - 1) / each;
  const unsigned threads = needed < 1    ? 1
                           : needed < 32 ? (unsigned)needed
                                         : row_threads(length, each, most);
  return dim3(threads, row_parts(length, each, most) > 1 ? 1 : most / threads);
}

// Neighbours in x are neighbours in memory; rows go on in z where y has no room for them.
inline dim3 row_grid(unsigned rows, size_t length, size_t each, unsigned most) {
  const unsigned joined = row_block(length, each, most).y;
  const unsigned blocks = (rows + joined - 1) / joined;
  const unsigned layers = blocks / 65535 + 1;
  return dim3(row_parts(length, each, most), (blocks + layers - 1) / layers, layers);
}

template <typename T>
__global__ void silu_and_mul(T* __restrict__ out, const T* __restrict__ x, int width,
                             unsigned blocks) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (block >= blocks) return;
  constexpr int kVector = 16 / sizeof(T);
  constexpr int kRounds = 1;  // whose vectors are in registers at once
  const size_t token = block;
  int vectors = 0;  // elements that go in vectors
  if (is_aligned<kVector>(&x[token * 2 * width]) &&
      is_aligned<kVector>(&x[token * 2 * width + width]) &&
      is_aligned<kVector>(&out[token * width])) {
    vectors = width / kVector * kVector;
  }
  Vector<T, kVector> x_kept[kRounds];
  Vector<T, kVector> x_kept2[kRounds];
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int first = (round * gridDim.x * blockDim.x + blockIdx.x * blockDim.x + threadIdx.x) * kVector;
    if (first < vectors) {
      x_kept[round] = load_vector<kVector>(&x[token * 2 * width + first]);
      x_kept2[round] = load_vector<kVector>(&x[token * 2 * width + width + first]);
    }
  }
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int first = (round * gridDim.x * blockDim.x + blockIdx.x * blockDim.x + threadIdx.x) * kVector;
    if (first < vectors) {
      Vector<T, kVector> out_vector;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const float gate = to_float(x_kept[round][e]);
        const float up = to_float(x_kept2[round][e]);
        store(&out_vector[e], __fdividef(gate, (1.0f + __expf(-gate))) * up);
      }
      store_vector(&out[token * width + first], out_vector);
    }
  }
  for (int i = vectors + blockIdx.x * blockDim.x + threadIdx.x; i < width;
       i += gridDim.x * blockDim.x) {
    const float gate = to_float(x[token * 2 * width + i]);
    const float up = to_float(x[token * 2 * width + width + i]);
    store(&out[token * width + i], __fdividef(gate, (1.0f + __expf(-gate))) * up);
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
    silu_and_mul<<<row_grid(s.tokens, s.width, 16 / sizeof(*((const __nv_bfloat16*)x)), 256),
        row_block(s.width, 16 / sizeof(*((const __nv_bfloat16*)x)), 256), 0,
        stream>>>((__nv_bfloat16*)out, (const __nv_bfloat16*)x, s.width, s.tokens);
  } else {
    silu_and_mul<<<row_grid(s.tokens, s.width, 16 / sizeof(*((const float*)x)), 256),
        row_block(s.width, 16 / sizeof(*((const float*)x)), 256), 0, stream>>>((float*)out,
                                                                               (const float*)x,
                                                                               s.width, s.tokens);
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
