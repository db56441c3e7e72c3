// SPDX-License-Identifier: Apache-2.0
// What merge_attn_states must compute, in fp32 on the GPU.
#include "cuco/reference.h"

namespace {

struct Inputs {
  const void *va, *vb;
  const float *sa, *sb;
};

__global__ void merge(
    Inputs in, size_t elements, int size, bool sums, bool bf16, float* want, float* scale) {
  const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= elements) return;
  const size_t row = sums ? at : at / size;
  const float top = fmaxf(in.sa[row], in.sb[row]);
  const float wa = expf(in.sa[row] - top);
  const float wb = expf(in.sb[row] - top);
  if (sums) {
    want[at] = top + logf(wa + wb);
    scale[at] = fabsf(want[at]);
    return;
  }
  const float a = cuco_load(in.va, at, bf16) * wa / (wa + wb);
  const float b = cuco_load(in.vb, at, bf16) * wb / (wa + wb);
  want[at] = a + b;
  scale[at] = fabsf(a) + fabsf(b);
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
  const Inputs in = {own[0], own[2], (const float*)own[1], (const float*)own[3]};
  merge<<<(unsigned)((elements + 255) / 256), 256, 0, stream>>>(
      in, elements, (int)shape->params[2], output == 1, shape->params[3] != 0, want, scale);
  return 0;
}
