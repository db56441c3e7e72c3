// SPDX-License-Identifier: Apache-2.0
// tries: a macro that changes a name of the contract's header, which frozen lines do not use
// verdict: screen-rejected
// because: changes what frozen code means to the compiler
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#define n_outputs number_of_outputs
// cuco: evolve end
