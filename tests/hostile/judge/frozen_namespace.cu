// SPDX-License-Identifier: Apache-2.0
// tries: a namespace that is opened in one region and closed in another, around frozen lines
// verdict: screen-rejected
// because: a bracket is opened or closed that is not its own
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#include <stddef.h>

namespace inner {}
using namespace inner;
namespace inner {
// cuco: evolve end
// cuco: evolve begin host

// common: state

// common: setup

int run(State& state, int set, cudaStream_t stream) {
  return honest(state, set, stream);
}
}

// cuco: evolve end
