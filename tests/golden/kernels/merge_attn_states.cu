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
__global__ void merge(
    T* __restrict__ v, float* __restrict__ s, const T* __restrict__ va,
    const float* __restrict__ sa, const T* __restrict__ vb, const float* __restrict__ sb, int size,
    unsigned blocks) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (block >= blocks) return;
  constexpr int kVector = 16 / sizeof(T);
  constexpr int kRounds = 1;  // whose vectors are in registers at once
  const size_t row = block;
  int vectors = 0;  // elements that go in vectors
  if (is_aligned<kVector>(&va[row * size]) &&
      is_aligned<kVector>(&vb[row * size]) &&
      is_aligned<kVector>(&v[row * size])) {
    vectors = size / kVector * kVector;
  }
  Vector<T, kVector> va_kept[kRounds];
  Vector<T, kVector> vb_kept[kRounds];
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int first = (round * gridDim.x * blockDim.x + blockIdx.x * blockDim.x + threadIdx.x) * kVector;
    if (first < vectors) {
      va_kept[round] = load_vector<kVector>(&va[row * size + first]);
      vb_kept[round] = load_vector<kVector>(&vb[row * size + first]);
    }
  }
  const float top = fmaxf(sa[row], sb[row]);
  const float wa = __expf(sa[row] - top);
  const float wb = __expf(sb[row] - top);
  const float inverse = __fdividef(1.0f, (wa + wb));
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int first = (round * gridDim.x * blockDim.x + blockIdx.x * blockDim.x + threadIdx.x) * kVector;
    if (first < vectors) {
      Vector<T, kVector> v_vector;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const float a = to_float(va_kept[round][e]);
        const float b = to_float(vb_kept[round][e]);
        store(&v_vector[e], (a * wa + b * wb) * inverse);
      }
      store_vector(&v[row * size + first], v_vector);
    }
  }
  for (int i = vectors + blockIdx.x * blockDim.x + threadIdx.x; i < size;
       i += gridDim.x * blockDim.x) {
    const float a = to_float(va[row * size + i]);
    const float b = to_float(vb[row * size + i]);
    store(&v[row * size + i], (a * wa + b * wb) * inverse);
  }
  if (blockIdx.x == 0 && (threadIdx.x == 0)) s[row] = top + __logf(wa + wb);
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
  merge<<<row_grid(shape.tokens * shape.heads, shape.size, 16 / sizeof(*((const T*)in[0])), 256),
      row_block(shape.size, 16 / sizeof(*((const T*)in[0])), 256), 0, stream>>>((T*)out[0],
                                                                                (float*)out[1],
                                                                                (const T*)in[0],
                                                                                (const float*)in[1],
                                                                                (const T*)in[2],
                                                                                (const float*)in[3],
                                                                                shape.size,
                                                                                shape.tokens * shape.heads);
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
