// SPDX-License-Identifier: Apache-2.0
// What flash_attention_cp must compute, in fp32 on the GPU: a warp for each query goes through all
// ranks' keys, one after the other.
#include "cuco/reference.h"

namespace {

constexpr int kMaxRanks = 64;

struct Parts {
  const void* k[kMaxRanks];
  const void* v[kMaxRanks];
};

constexpr int kOwn = 2;  // elements of a row per lane: heads are of size 32 or 64

__global__ void attend(const void* q,
                       Parts parts,
                       int ranks,
                       size_t rows,
                       int sequence,
                       int size,
                       bool bf16,
                       float* want,
                       float* scale) {
  const size_t row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const size_t head = row / sequence * sequence;
  const int own = size / 32;
  float query[kOwn], sum[kOwn] = {}, magnitude[kOwn] = {}, top = -INFINITY, total = 0;
  for (int i = 0; i < own; ++i)
    query[i] = cuco_load(q, row * size + lane + 32 * i, bf16);
  for (int rank = 0; rank < ranks; ++rank) {
    for (int key = 0; key < sequence; ++key) {
      const size_t at = (head + key) * size + lane;
      float score = 0;
      for (int i = 0; i < own; ++i)
        score += query[i] * cuco_load(parts.k[rank], at + 32 * i, bf16);
      for (int step = 16; step > 0; step /= 2)
        score += __shfl_xor_sync(~0u, score, step);
      score /= sqrtf((float)size);
      const float best = fmaxf(top, score);
      const float shrink = expf(top - best);
      const float p = expf(score - best);
      for (int i = 0; i < own; ++i) {
        const float value = p * cuco_load(parts.v[rank], at + 32 * i, bf16);
        sum[i] = sum[i] * shrink + value;
        magnitude[i] = magnitude[i] * shrink + fabsf(value);
      }
      total = total * shrink + p;
      top = best;
    }
  }
  for (int i = 0; i < own; ++i) {
    want[row * size + lane + 32 * i] = sum[i] / total;
    scale[row * size + lane + 32 * i] = magnitude[i] / total;
  }
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
  const int size = (int)shape->params[2];
  if (shape->ranks > kMaxRanks || size % 32 != 0 || size > 32 * kOwn) return 1;
  Parts parts = {};
  for (int r = 0; r < shape->ranks; ++r) {
    parts.k[r] = inputs[r * n_inputs + 1];
    parts.v[r] = inputs[r * n_inputs + 2];
  }
  const size_t rows = elements / size;
  attend<<<(unsigned)((rows + 7) / 8), 256, 0, stream>>>(inputs[rank * n_inputs], parts,
                                                         shape->ranks, rows, (int)shape->params[1],
                                                         size, shape->params[3] != 0, want, scale);
  return 0;
}
