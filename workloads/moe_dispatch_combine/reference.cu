// SPDX-License-Identifier: Apache-2.0
// What moe_dispatch_combine must compute, in fp32 on the GPU: token by token and expert by expert,
// without any dispatch.
#include "cuco/reference.h"

namespace {

constexpr int kMaxRanks = 64;

struct Weights {
  const void* w13[kMaxRanks];
  const void* w2[kMaxRanks];
};

struct Shape {
  int tokens, hidden, inter, local, top;
  bool bf16;
};

// active[slot, i], one element per thread.
__global__ void activate(const void* x, const int* route, Weights weights, Shape s, float* active) {
  const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  const size_t slot = at / s.inter;
  const int i = (int)(at % s.inter);
  if (slot >= (size_t)s.tokens * s.top) return;
  const int expert = route[slot];
  const void* w13 = weights.w13[expert / s.local];
  const size_t first = (size_t)(expert % s.local) * s.hidden * 2 * s.inter;
  float gate = 0, up = 0;
  for (int d = 0; d < s.hidden; ++d) {
    const float value = cuco_load(x, slot / s.top * s.hidden + d, s.bf16);
    const size_t row = first + (size_t)d * 2 * s.inter;
    gate += value * cuco_load(w13, row + i, s.bf16);
    up += value * cuco_load(w13, row + s.inter + i, s.bf16);
  }
  active[at] = gate / (1.0f + expf(-gate)) * up;
}

// out[token, d], one element per thread.
__global__ void combine(const int* route,
                        const float* gate,
                        Weights weights,
                        Shape s,
                        const float* active,
                        float* want,
                        float* scale) {
  const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (size_t)s.tokens * s.hidden) return;
  const size_t token = at / s.hidden;
  float sum = 0, size = 0;
  for (int j = 0; j < s.top; ++j) {
    const size_t slot = token * s.top + j;
    const int expert = route[slot];
    const void* w2 = weights.w2[expert / s.local];
    const size_t first = (size_t)(expert % s.local) * s.inter * s.hidden + at % s.hidden;
    float part = 0, magnitude = 0;
    for (int i = 0; i < s.inter; ++i) {
      const float product =
          active[slot * s.inter + i] * cuco_load(w2, first + (size_t)i * s.hidden, s.bf16);
      part += product;
      magnitude += fabsf(product);
    }
    sum += gate[slot] * part;
    size += gate[slot] * magnitude;
  }
  want[at] = sum;
  scale[at] = size;
}

}  // namespace

static int cuco_reference(const cuco_shape* shape,
                          const void* const* inputs,
                          int n_inputs,
                          int rank,
                          int /*output*/,
                          size_t elements,
                          float* want,
                          float* scale,
                          cudaStream_t stream) {
  const long long* p = shape->params;
  const Shape s = {(int)p[0], (int)p[1], (int)p[2], (int)(p[3] / shape->ranks),
                   (int)p[4], p[7] != 0};
  if (shape->ranks > kMaxRanks) return 1;
  Weights weights = {};
  for (int r = 0; r < shape->ranks; ++r) {
    weights.w13[r] = inputs[r * n_inputs + 1];
    weights.w2[r] = inputs[r * n_inputs + 2];
  }
  const void* const* own = inputs + rank * n_inputs;
  const size_t activations = (size_t)s.tokens * s.top * s.inter;
  float* active = nullptr;
  if (cudaMallocAsync(&active, activations * sizeof(float), stream) != cudaSuccess) return 2;
  activate<<<(unsigned)((activations + 255) / 256), 256, 0, stream>>>(own[0], (const int*)own[3],
                                                                      weights, s, active);
  combine<<<(unsigned)((elements + 255) / 256), 256, 0, stream>>>(
      (const int*)own[3], (const float*)own[4], weights, s, active, want, scale);
  return cudaFreeAsync(active, stream) == cudaSuccess ? 0 : 3;
}
