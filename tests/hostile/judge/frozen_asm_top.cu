// SPDX-License-Identifier: Apache-2.0
// tries: an entry point of its own in assembly, outside of any function
// verdict: screen-rejected
// because: asm stands outside of a function
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
static int decoy() __asm__("cuco_" "run2");
static int decoy() {
  return 0;
}
static const int kUse = sizeof(decoy());
// cuco: evolve end
