// SPDX-License-Identifier: Apache-2.0
// What gemm_allgather must compute, in fp32 on the GPU: every element by itself.
#include "cuco/reference.h"

namespace {

__global__ void one_rank(
    const void* a, const void* b, int m, int n, int k, bool bf16, float* want, float* scale) {
  const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (size_t)m * n) return;
  const size_t row = at / n;
  const size_t col = at % n;
  float sum = 0, size = 0;
  for (int d = 0; d < k; ++d) {
    const float product = cuco_load(a, row * k + d, bf16) * cuco_load(b, (size_t)d * n + col, bf16);
    sum += product;
    size += fabsf(product);
  }
  want[at] = sum;
  scale[at] = size;
}

}  // namespace

static int cuco_reference(const cuco_shape* shape,
                          const void* const* inputs,
                          int n_inputs,
                          int /*rank*/,
                          int /*output*/,
                          size_t elements,
                          float* want,
                          float* scale,
                          cudaStream_t stream) {
  const int m = (int)shape->params[0];
  const int n = (int)shape->params[1];
  const int k = (int)shape->params[2];
  const size_t part = (size_t)m * n;
  if (part * shape->ranks != elements) return 1;
  for (int owner = 0; owner < shape->ranks; ++owner) {
    one_rank<<<(unsigned)((part + 255) / 256), 256, 0, stream>>>(
        inputs[owner * n_inputs], inputs[owner * n_inputs + 1], m, n, k, shape->params[3] != 0,
        want + owner * part, scale + owner * part);
  }
  return 0;
}
