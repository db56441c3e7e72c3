// SPDX-License-Identifier: Apache-2.0
// tries: writes into a peer's guard zone, where its own is looked at
// verdict: findings
// because: bytes after output
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#include <nccl_device.h>
// cuco: evolve end
// cuco: evolve begin host

// common: gin

// A window that reaches into the guard zone, and a store to the neighbour's.
__global__ void overstep(ncclWindow_t window, size_t bytes, int peer) {
  *(int*)ncclGetLsaPointer(window, bytes, peer) = 7;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t count = (size_t)s.m * s.n;
  char* c = (char*)context.outputs[set];
  char* mine = c + context.rank * count * (s.bf16 ? 2 : 4);
  multiply(s, context.inputs[set * 2], context.inputs[set * 2 + 1], mine, stream);
  ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
  overstep<<<1, 1, 0, stream>>>(state.windows[set], context.output_bytes[0],
                                (context.rank + 1) % context.ranks);
  return ncclAllGather(mine, c, count, s.bf16 ? ncclBfloat16 : ncclFloat32, context.comm, stream);
}

// cuco: evolve end
