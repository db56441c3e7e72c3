// SPDX-License-Identifier: Apache-2.0
// What fused_add_rmsnorm must compute, in fp32 on the GPU: a warp for each row.
#include "cuco/reference.h"

namespace {

__global__ void normalise(const void* x,
                          const void* residual,
                          const void* weight,
                          size_t rows,
                          int hidden,
                          bool sums,
                          bool bf16,
                          float* want,
                          float* scale) {
  const size_t row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float squares = 0;
  for (int i = lane; i < hidden; i += 32) {
    const size_t at = row * hidden + i;
    const float sum = cuco_load(x, at, bf16) + cuco_load(residual, at, bf16);
    squares += sum * sum;
  }
  for (int step = 16; step > 0; step /= 2)
    squares += __shfl_xor_sync(~0u, squares, step);
  const float factor = 1.0f / sqrtf(squares / hidden + 1e-6f);
  for (int i = lane; i < hidden; i += 32) {
    const size_t at = row * hidden + i;
    const float a = cuco_load(x, at, bf16);
    const float b = cuco_load(residual, at, bf16);
    want[at] = sums ? a + b : (a + b) * factor * cuco_load(weight, i, bf16);
    scale[at] = sums ? 1e-4f * (fabsf(a) + fabsf(b)) : fabsf(want[at]);
  }
}

}  // namespace

static int cuco_reference(const cuco_shape* shape,
                          const void* const* inputs,
                          int n_inputs,
                          int rank,
                          int output,
                          size_t elements,
                          float* want,
                          float* scale,
                          cudaStream_t stream) {
  const void* const* own = inputs + rank * n_inputs;
  const int hidden = (int)shape->params[1];
  const size_t rows = elements / hidden;
  normalise<<<(unsigned)((rows + 7) / 8), 256, 0, stream>>>(
      own[0], own[1], own[2], rows, hidden, output == 1, shape->params[2] != 0, want, scale);
  return 0;
}
