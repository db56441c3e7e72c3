// SPDX-License-Identifier: Apache-2.0
// tries: an exit handler that reports success, and then an early exit
// verdict: crashed
// because: ended before
// cuco: evolve begin preamble
#include <cstdio>
#include <cstdlib>

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
// cuco: evolve end
// cuco: evolve begin host

// common: state

// common: setup

void good_bye() {
  puts("Verification: PASS");
}

int run(State&, int, cudaStream_t) {
  atexit(good_bye);
  exit(0);
}

// cuco: evolve end
