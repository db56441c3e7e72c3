/* SPDX-License-Identifier: Apache-2.0
 *
 * The trusted reference on a GPU: what the oracle computes in double precision for some elements,
 * reference.cu computes in fp32 for all, so that at full size no element goes unseen.
 *
 * reference.cu includes this header and defines cuco_reference. It is built and run like a program,
 * but alone, in a process and on a GPU (or virtual GPU) that no candidate has anything to do with.
 */
#ifndef CUCO_REFERENCE_H
#define CUCO_REFERENCE_H

#include <cuda_bf16.h>

#include "cuco/oracle.h"
#include "cuco/workload.h"

/* Computes all `elements` of output `output` on rank `rank`, as cuco_oracle_reference does, but in
 * fp32 and on the device: everything is device memory, and inputs[r * n_inputs + i] holds what rank
 * r's input i holds. Plain rather than fast: to be read beside the oracle. */
static int cuco_reference(const cuco_shape* shape,
                          const void* const* inputs,
                          int n_inputs,
                          int rank,
                          int output,
                          size_t elements,
                          float* want,
                          float* scale,
                          cudaStream_t stream);

/* An element of fp32 or bf16. */
__device__ inline float cuco_load(const void* bytes, size_t i, bool bf16) {
  return bf16 ? __bfloat162float(((const __nv_bfloat16*)bytes)[i]) : ((const float*)bytes)[i];
}

/* How it is run: the judge gives all ranks' inputs, and takes want and scale of every rank's
 * outputs: outputs[(rank * n_outputs + output) * 2 + {0: want, 1: scale}]. Two numbers come after
 * the shape's parameters: how many ranks there are, and how many outputs each has. */
extern "C" int cuco_setup(const cuco_context* context, void** state) {
  *state = (void*)new cuco_context(*context);
  return 0;
}

extern "C" int cuco_run(void* state, int set, cudaStream_t stream) {
  const cuco_context& c = *(const cuco_context*)state;
  if (set != 0 || c.n_params < 2) return 1;
  const int ranks = (int)c.params[c.n_params - 2];
  const int outputs = (int)c.params[c.n_params - 1];
  const cuco_shape shape = {ranks, c.params, c.n_params - 2};
  for (int i = 0; i < ranks * outputs; ++i) {
    const int code = cuco_reference(&shape, (const void* const*)c.inputs, c.n_inputs / ranks,
                                    i / outputs, i % outputs, c.output_bytes[2 * i] / sizeof(float),
                                    (float*)c.outputs[2 * i], (float*)c.outputs[2 * i + 1], stream);
    if (code != 0) return code;
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 2;
}

extern "C" void cuco_teardown(void* state) {
  delete (cuco_context*)state;
}

#endif
