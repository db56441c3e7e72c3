// SPDX-License-Identifier: Apache-2.0
// tries: a macro that only the host's compiler sees
// verdict: screen-rejected
// because: changes what frozen code means to the compiler
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#ifndef __CUDA_ARCH__
#define sets number_of_sets
#endif
// cuco: evolve end
