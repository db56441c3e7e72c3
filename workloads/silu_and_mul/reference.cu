// SPDX-License-Identifier: Apache-2.0
// What silu_and_mul must compute, in fp32 on the GPU.
#include "cuco/reference.h"

namespace {

__global__ void silu(
    const void* x, size_t elements, int width, bool bf16, float* want, float* scale) {
  const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= elements) return;
  const size_t from = at / width * 2 * width + at % width;
  const float gate = cuco_load(x, from, bf16);
  want[at] = gate / (1.0f + expf(-gate)) * cuco_load(x, from + width, bf16);
  scale[at] = fabsf(want[at]);
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
  silu<<<(unsigned)((elements + 255) / 256), 256, 0, stream>>>(
      inputs[rank * n_inputs], elements, (int)shape->params[1], shape->params[2] != 0, want, scale);
  return 0;
}
