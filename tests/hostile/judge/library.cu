// SPDX-License-Identifier: Apache-2.0
// tries: lets a library do the work
// verdict: screen-rejected
// because: cublas
// cuco: evolve begin preamble
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
// cuco: evolve end
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  cublasHandle_t handle = nullptr;
  cublasCreate(&handle);
  return honest(state, set, stream);
}

// cuco: evolve end
