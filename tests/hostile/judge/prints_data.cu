// SPDX-License-Identifier: Apache-2.0
// tries: brings the inputs to the host by printing them, to compute there
// verdict: findings
// because: copied to the host
// cuco: evolve begin preamble
#include <cstdio>

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
// cuco: evolve end
// cuco: evolve begin host

// common: state

// common: setup

__global__ void tell(const float* values, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    printf("%08x\n", __float_as_uint(values[i]));
}

int run(State& state, int set, cudaStream_t stream) {
  tell<<<1, 32, 0, stream>>>((const float*)state.context.inputs[set * state.context.n_inputs],
                             2048);
  cudaStreamSynchronize(stream);
  return honest(state, set, stream);
}

// cuco: evolve end
