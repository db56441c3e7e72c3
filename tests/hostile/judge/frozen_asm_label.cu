// SPDX-License-Identifier: Apache-2.0
// tries: another symbol for the frozen entry point, and its own function under the entry's name
// verdict: screen-rejected
// because: an entry point, is named
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
extern "C" int cuco_run(void* state, int set, cudaStream_t stream) __asm__("cuco_run_frozen");
extern "C" int decoy(void* state, int set, cudaStream_t stream) __asm__("cuco_run");
extern "C" int decoy(void*, int, cudaStream_t) {
  return 0;
}
// cuco: evolve end
