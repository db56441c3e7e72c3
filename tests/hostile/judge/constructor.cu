// SPDX-License-Identifier: Apache-2.0
// tries: runs code when it is loaded, before anything is checked
// verdict: screen-rejected
// because: runs code of its own when it is loaded
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

__attribute__((constructor)) void early() {
  puts("Verification: PASS");
}
int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}

// cuco: evolve end
