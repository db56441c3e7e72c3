// SPDX-License-Identifier: Apache-2.0
// tries: a macro above frozen code that changes what it means
// verdict: screen-rejected
// because: a macro redefines 'cuco_run'
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#define cuco_run cuco_run_of_mine
// cuco: evolve end
