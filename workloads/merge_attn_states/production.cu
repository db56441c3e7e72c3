// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// Two attentions over parts of the keys, (va, sa) and (vb, sb), s = log sum exp, merged into one:
// v = (va exp(sa) + vb exp(sb)) / (exp(sa) + exp(sb)), s = log(exp(sa) + exp(sb)).
// Production style: a thread merges 16 bytes, neighbours share a row, blocks are full whatever the
// head size; fast exponentials of differences, one division per row. size is a multiple of 8.
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

constexpr int kThreads = 128;

template <typename T>
__global__ void __launch_bounds__(kThreads) merge(T* __restrict__ v,
                                                  float* __restrict__ s,
                                                  const T* __restrict__ va,
                                                  const float* __restrict__ sa,
                                                  const T* __restrict__ vb,
                                                  const float* __restrict__ sb,
                                                  int rows,
                                                  int size) {
  constexpr int kSize = Pack<T>::kSize;
  const int packs = size / kSize;
  const size_t pack = (size_t)blockIdx.x * kThreads + threadIdx.x;
  const size_t row = pack / packs;
  if (row >= rows) return;
  const float a = __ldg(&sa[row]);
  const float b = __ldg(&sb[row]);
  const float top = fmaxf(a, b);
  const float wa = __expf(a - top);
  const float wb = __expf(b - top);
  const float inverse = __frcp_rn(wa + wb);
  float left[kSize], right[kSize];
  Pack<T>::load(&va[pack * kSize], left);
  Pack<T>::load(&vb[pack * kSize], right);
#pragma unroll
  for (int e = 0; e < kSize; ++e)
    left[e] = (left[e] * wa + right[e] * wb) * inverse;
  Pack<T>::store(&v[pack * kSize], left);
  if (pack % packs == 0) s[row] = top + __logf(wa + wb);
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
  const int rows = shape.tokens * shape.heads;
  const size_t packs = (size_t)rows * shape.size / Pack<T>::kSize;
  const auto blocks = (unsigned)((packs + kThreads - 1) / kThreads);
  merge<<<blocks, kThreads, 0, stream>>>((T*)out[0], (float*)out[1], (const T*)in[0],
                                         (const float*)in[1], (const T*)in[2], (const float*)in[3],
                                         rows, shape.size);
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
