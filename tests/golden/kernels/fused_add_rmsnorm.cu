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

template <typename T>
__global__ void fused_add_rmsnorm(
    T* out, T* new_residual, const T* x, const T* residual, const T* weight, int hidden) {
  constexpr int kVector = 16 / sizeof(T);
  __shared__ float partial[256];
  const size_t row = (size_t)blockIdx.x * hidden;
  float squares = 0;
  int vectors = 0;  // elements that go in vectors
  if (is_aligned<kVector>(&x[row]) &&
      is_aligned<kVector>(&residual[row]) &&
      is_aligned<kVector>(&new_residual[row])) {
    vectors = hidden / kVector * kVector;
    for (int first = threadIdx.x * kVector; first < vectors; first += blockDim.x * kVector) {
      const auto x_vector = load_vector<kVector>(&x[row + first]);
      const auto residual_vector = load_vector<kVector>(&residual[row + first]);
      Vector<T, kVector> new_residual_vector;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const float sum = to_float(x_vector[e]) + to_float(residual_vector[e]);
        store(&new_residual_vector[e], sum);
        squares += sum * sum;
      }
      store_vector(&new_residual[row + first], new_residual_vector);
    }
  }
  for (int i = vectors + threadIdx.x; i < hidden; i += blockDim.x) {
    const float sum = to_float(x[row + i]) + to_float(residual[row + i]);
    store(&new_residual[row + i], sum);
    squares += sum * sum;
  }
  const auto sum2 = block_sum(squares, partial);
  const float factor = 1.0f / sqrtf(sum2 / hidden + kEpsilon);
  int vectors2 = 0;  // elements that go in vectors
  if (is_aligned<kVector>(&x[row]) &&
      is_aligned<kVector>(&residual[row]) &&
      is_aligned<kVector>(weight) &&
      is_aligned<kVector>(&out[row])) {
    vectors2 = hidden / kVector * kVector;
    for (int first = threadIdx.x * kVector; first < vectors2; first += blockDim.x * kVector) {
      const auto x_vector = load_vector<kVector>(&x[row + first]);
      const auto residual_vector = load_vector<kVector>(&residual[row + first]);
      const auto weight_vector = load_vector<kVector>(&weight[first]);
      Vector<T, kVector> out_vector;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const float sum = to_float(x_vector[e]) + to_float(residual_vector[e]);
        store(&out_vector[e], sum * factor * to_float(weight_vector[e]));
      }
      store_vector(&out[row + first], out_vector);
    }
  }
  for (int i = vectors2 + threadIdx.x; i < hidden; i += blockDim.x) {
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
  fused_add_rmsnorm<<<state.shape.tokens, 1024, 0, stream>>>((T*)out[0], (T*)out[1],
                                                             (const T*)in[0], (const T*)in[1],
                                                             (const T*)in[2], state.shape.hidden);
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
