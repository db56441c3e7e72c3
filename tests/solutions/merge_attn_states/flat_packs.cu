// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// Two attentions over parts of the keys, (va, sa) and (vb, sb), s = log sum exp, merged into one:
// v = (va exp(sa) + vb exp(sb)) / (exp(sa) + exp(sb)), s = log(exp(sa) + exp(sb)).
// By hand: as in production (16-byte accesses over the flat list of packs, fast exponentials), but
// one exponential of the difference gives both weights, shifts replace the division by the row's
// length where it is a power of two, and all loads are in flight at once. size is a multiple of 8.
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
__global__ void __launch_bounds__(kThreads) merge(T* __restrict__ v,
                                                  float* __restrict__ s,
                                                  const T* __restrict__ va,
                                                  const float* __restrict__ sa,
                                                  const T* __restrict__ vb,
                                                  const float* __restrict__ sb,
                                                  unsigned packs,
                                                  unsigned packs_per_row,
                                                  int shift) {
  constexpr int kSize = Pack<T>::kSize;
  const unsigned pack = blockIdx.x * kThreads + threadIdx.x;
  if (pack >= packs) return;
  const unsigned row = shift >= 0 ? pack >> shift : pack / packs_per_row;
  float left[kSize], right[kSize];
  const float a = __ldg(&sa[row]);
  const float b = __ldg(&sb[row]);
  Pack<T>::load(&va[(size_t)pack * kSize], left);
  Pack<T>::load(&vb[(size_t)pack * kSize], right);
  // exp(a) / (exp(a) + exp(b)) = 1 / (1 + exp(b - a)), with the larger one first.
  const float small = __expf(-fabsf(a - b));
  const float large_share = __frcp_rn(1.0f + small);
  const float small_share = small * large_share;
  const float wa = a >= b ? large_share : small_share;
  const float wb = a >= b ? small_share : large_share;
#pragma unroll
  for (int e = 0; e < kSize; ++e)
    left[e] = left[e] * wa + right[e] * wb;
  Pack<T>::store(&v[(size_t)pack * kSize], left);
  if (pack == row * packs_per_row) s[row] = fmaxf(a, b) + __logf(1.0f + small);
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
  const unsigned per_row = shape.size / Pack<T>::kSize;
  const unsigned packs = shape.tokens * shape.heads * per_row;
  int shift = -1;
  if ((per_row & (per_row - 1)) == 0) {
    for (shift = 0; (1u << shift) < per_row;)
      ++shift;
  }
  merge<<<(packs + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
      (T*)out[0], (float*)out[1], (const T*)in[0], (const float*)in[1], (const T*)in[2],
      (const float*)in[3], packs, per_row, shift);
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
