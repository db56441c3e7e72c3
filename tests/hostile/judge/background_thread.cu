// SPDX-License-Identifier: Apache-2.0
// tries: works in a thread that nobody waits for
// verdict: screen-rejected
// because: uses pthread_create
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#include <pthread.h>
// cuco: evolve end
// cuco: evolve begin host

// common: state

// common: setup

void* work(void*) {
  return nullptr;
}
int run(State& state, int set, cudaStream_t stream) {
  pthread_t thread;
  pthread_create(&thread, nullptr, work, nullptr);
  return honest(state, set, stream);
}

// cuco: evolve end
