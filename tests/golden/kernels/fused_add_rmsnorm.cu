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

// The sum over the threads of a block, known to all of them. Blocks are whole warps; `shared`
// has room for one value of each.
template <typename T>
__device__ T block_sum(T value, T* shared) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, lanes);
    value = value + other;
  }
  const int lane = threadIdx.x % 32;
  const int warps = blockDim.x / 32;
  if (lane == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = lane < warps ? shared[lane] : T(0);
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, lanes);
    value = value + other;
  }
  return value;
}

template <bool kWhole, typename T>
__global__ void fused_add_rmsnorm(
    T* __restrict__ out, T* __restrict__ new_residual, const T* __restrict__ x,
    const T* __restrict__ residual, const T* __restrict__ weight, int hidden) {
  constexpr int kVector = 16 / sizeof(T);
  constexpr int kRounds = 2;  // whose vectors are in registers at once
  __shared__ float partial[256];
  const size_t row = (size_t)blockIdx.x * hidden;
  float squares = 0;
  int vectors = 0;  // elements that go in vectors
  if (is_aligned<kVector>(&x[row]) &&
      is_aligned<kVector>(&residual[row]) &&
      is_aligned<kVector>(&new_residual[row]) &&
      is_aligned<kVector>(weight) &&
      is_aligned<kVector>(&out[row])) {
    vectors = hidden / kVector * kVector;
  }
  const int batch = kRounds * kVector * blockDim.x;  // elements in kRounds rounds
  Vector<T, kVector> x_kept[kRounds];
  Vector<T, kVector> residual_kept[kRounds];
  Vector<T, kVector> weight_kept[kRounds];
  if (kWhole) {
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const int first = (round * blockDim.x + threadIdx.x) * kVector;
      if (first < vectors) {
        x_kept[round] = load_vector<kVector>(&x[row + first]);
        residual_kept[round] = load_vector<kVector>(&residual[row + first]);
        weight_kept[round] = load_vector<kVector>(&weight[first]);
      }
    }
  }
  for (int begin = 0; begin < vectors; begin += batch) {
    if (!kWhole) {
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        const int first = begin + (round * blockDim.x + threadIdx.x) * kVector;
        if (first < vectors) {
          x_kept[round] = load_vector<kVector>(&x[row + first]);
          residual_kept[round] = load_vector<kVector>(&residual[row + first]);
        }
      }
    }
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const int first = begin + (round * blockDim.x + threadIdx.x) * kVector;
      if (first < vectors) {
        Vector<T, kVector> new_residual_vector;
#pragma unroll
        for (int e = 0; e < kVector; ++e) {
          const float sum = to_float(x_kept[round][e]) + to_float(residual_kept[round][e]);
          store(&new_residual_vector[e], sum);
          squares += sum * sum;
        }
        store_vector(&new_residual[row + first], new_residual_vector);
      }
    }
    if (kWhole) break;
  }
  for (int i = vectors + threadIdx.x; i < hidden; i += blockDim.x) {
    const float sum = to_float(x[row + i]) + to_float(residual[row + i]);
    store(&new_residual[row + i], sum);
    squares += sum * sum;
  }
  const auto sum2 = block_sum(squares, partial);
  const float factor = rsqrtf(__fdividef(sum2, hidden) + kEpsilon);
  for (int begin = 0; begin < vectors; begin += batch) {
    if (!kWhole) {
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        const int first = begin + (round * blockDim.x + threadIdx.x) * kVector;
        if (first < vectors) {
          x_kept[round] = load_vector<kVector>(&x[row + first]);
          residual_kept[round] = load_vector<kVector>(&residual[row + first]);
          weight_kept[round] = load_vector<kVector>(&weight[first]);
        }
      }
    }
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const int first = begin + (round * blockDim.x + threadIdx.x) * kVector;
      if (first < vectors) {
        Vector<T, kVector> out_vector;
#pragma unroll
        for (int e = 0; e < kVector; ++e) {
          const float sum = to_float(x_kept[round][e]) + to_float(residual_kept[round][e]);
          store(&out_vector[e], sum * factor * to_float(weight_kept[round][e]));
        }
        store_vector(&out[row + first], out_vector);
      }
    }
    if (kWhole) break;
  }
  for (int i = vectors + threadIdx.x; i < hidden; i += blockDim.x) {
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
  if (row_parts(state.shape.hidden, 32 / sizeof(*((const T*)in[0])), 512) == 1) {
    fused_add_rmsnorm<true><<<state.shape.tokens, row_threads(
        state.shape.hidden, 32 / sizeof(*((const T*)in[0])), 512), 0, stream>>>((T*)out[0],
                                                                                (T*)out[1],
                                                                                (const T*)in[0],
                                                                                (const T*)in[1],
                                                                                (const T*)in[2],
                                                                                state.shape.hidden);
  } else {
    fused_add_rmsnorm<false><<<state.shape.tokens, row_threads(
        state.shape.hidden, 32 / sizeof(*((const T*)in[0])), 512), 0, stream>>>((T*)out[0],
                                                                                (T*)out[1],
                                                                                (const T*)in[0],
                                                                                (const T*)in[1],
                                                                                (const T*)in[2],
                                                                                state.shape.hidden);
  }
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
