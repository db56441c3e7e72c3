// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// out[t, i] = silu(x[t, i]) * x[t, width + i], silu(g) = g / (1 + exp(-g)).
// By hand: 16-byte accesses, one pack per thread, and small blocks over the flat list of packs, so
// that even a few tokens spread over all SMs; nothing is read twice, so nothing is kept in a cache.
// width is a multiple of 8.
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

constexpr int kThreads = 64;

template <typename T>
__global__ void __launch_bounds__(kThreads) silu_and_mul(T* __restrict__ out,
                                                         const T* __restrict__ x,
                                                         unsigned packs,
                                                         unsigned packs_per_row) {
  constexpr int kSize = Pack<T>::kSize;
  const unsigned pack = blockIdx.x * kThreads + threadIdx.x;
  if (pack >= packs) return;
  const unsigned token = pack / packs_per_row;
  const size_t at = ((size_t)token * packs_per_row + pack) * kSize;  // rows of x are twice as long
  float gate[kSize], up[kSize];
  Pack<T>::load(&x[at], gate);
  Pack<T>::load(&x[at + (size_t)packs_per_row * kSize], up);
#pragma unroll
  for (int e = 0; e < kSize; ++e)
    gate[e] = __fdividef(gate[e], 1.0f + __expf(-gate[e])) * up[e];
  Pack<T>::store(&out[(size_t)pack * kSize], gate);
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
  const unsigned per_row = s.width / (s.bf16 ? 8 : 4);
  const unsigned packs = s.tokens * per_row;
  const unsigned grid = (packs + kThreads - 1) / kThreads;
  if (s.bf16) {
    silu_and_mul<<<grid, kThreads, 0, stream>>>((__nv_bfloat16*)out, (const __nv_bfloat16*)x, packs,
                                                per_row);
  } else {
    silu_and_mul<<<grid, kThreads, 0, stream>>>((float*)out, (const float*)x, packs, per_row);
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
