// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// new_residual = x + residual; out = new_residual / rms(new_residual) * weight, row by row.
// By hand: as in production (row in registers, 16-byte accesses, shuffles), but as many threads as
// a row has packs, and the weights are fetched before the reduction, which hides them. hidden is a
// multiple of 8.
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

// 16 bytes of elements, as floats and back.
template <typename T>
struct Pack;

template <>
struct Pack<float> {
  static constexpr int kSize = 4;
  static __device__ void load(const float* at, float (&v)[4]) {
    const float4 q = __ldg(reinterpret_cast<const float4*>(at));
    v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
  }
  static __device__ void store(float* at, const float (&v)[4]) {
    *reinterpret_cast<float4*>(at) = make_float4(v[0], v[1], v[2], v[3]);
  }
};

template <>
struct Pack<__nv_bfloat16> {
  static constexpr int kSize = 8;
  static __device__ void load(const __nv_bfloat16* at, float (&v)[8]) {
    const uint4 q = __ldg(reinterpret_cast<const uint4*>(at));
    const unsigned words[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      v[2 * i] = __uint_as_float(words[i] << 16);
      v[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
  }
  static __device__ void store(__nv_bfloat16* at, const float (&v)[8]) {
    __nv_bfloat162 pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      pairs[i] = __floats2bfloat162_rn(v[2 * i], v[2 * i + 1]);
    *reinterpret_cast<uint4*>(at) = *reinterpret_cast<uint4*>(pairs);
  }
};

__device__ float block_sum(float v) {
  __shared__ float partial[32];
  for (int lane = 16; lane > 0; lane /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, lane);
  const int warps = blockDim.x / 32;
  if (warps == 1) return v;
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < warps ? partial[threadIdx.x % 32] : 0.0f;
  for (int lane = 16; lane > 0; lane /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, lane);
  return v;
}

// kPacks: 16-byte packs of a row that one thread keeps.
template <typename T, int kPacks>
__global__ void __launch_bounds__(1024) fused_add_rmsnorm(T* __restrict__ out,
                                                          T* __restrict__ new_residual,
                                                          const T* __restrict__ x,
                                                          const T* __restrict__ residual,
                                                          const T* __restrict__ weight,
                                                          int hidden) {
  constexpr int kSize = Pack<T>::kSize;
  const size_t row = (size_t)blockIdx.x * hidden;
  float sums[kPacks][kSize], other[kPacks][kSize], scale[kPacks][kSize];
  // All loads first, so that they wait for memory together.
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = (p * blockDim.x + threadIdx.x) * kSize;
    if (i >= hidden) continue;
    Pack<T>::load(&x[row + i], sums[p]);
    Pack<T>::load(&residual[row + i], other[p]);
    Pack<T>::load(&weight[i], scale[p]);
  }
  float squares = 0;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = (p * blockDim.x + threadIdx.x) * kSize;
    if (i >= hidden) continue;
#pragma unroll
    for (int e = 0; e < kSize; ++e) {
      sums[p][e] += other[p][e];
      squares += sums[p][e] * sums[p][e];
    }
    Pack<T>::store(&new_residual[row + i], sums[p]);
  }
  const float factor = rsqrtf(block_sum(squares) / hidden + kEpsilon);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = (p * blockDim.x + threadIdx.x) * kSize;
    if (i >= hidden) continue;
#pragma unroll
    for (int e = 0; e < kSize; ++e)
      scale[p][e] *= sums[p][e] * factor;
    Pack<T>::store(&out[row + i], scale[p]);
  }
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
};

template <typename T, int kPacks>
void launch_with(const State& state, int set, int threads, cudaStream_t stream) {
  void* const* in = state.context.inputs + set * state.context.n_inputs;
  void* const* out = state.context.outputs + set * state.context.n_outputs;
  fused_add_rmsnorm<T, kPacks><<<state.shape.tokens, threads, 0, stream>>>(
      (T*)out[0], (T*)out[1], (const T*)in[0], (const T*)in[1], (const T*)in[2],
      state.shape.hidden);
}

template <typename T>
void launch(const State& state, int set, cudaStream_t stream) {
  const int packs = state.shape.hidden / Pack<T>::kSize;
  const int each = (packs + 1023) / 1024;
  const int threads = ((packs + each - 1) / each + 31) / 32 * 32;
  if (each == 1) return launch_with<T, 1>(state, set, threads, stream);
  if (each == 2) return launch_with<T, 2>(state, set, threads, stream);
  launch_with<T, 4>(state, set, 1024, stream);
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
