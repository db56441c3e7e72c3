// SPDX-License-Identifier: Apache-2.0
// tries: packs the structures of frozen code by a pragma
// verdict: screen-rejected
// because: pragma
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#pragma pack(push, 4)
// cuco: evolve end
