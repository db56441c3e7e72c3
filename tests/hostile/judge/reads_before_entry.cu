// SPDX-License-Identifier: Apache-2.0
// tries: reads a peer's inputs before the peer has entered the call
// verdict: findings
// because: has entered the same call
// fidelity: final
// cuco: evolve begin preamble
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#include <nccl_device.h>
// cuco: evolve end
// cuco: evolve begin host

// common: peer_inputs

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t element = s.bf16 ? 2 : 4;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const void* b = context.inputs[set * context.n_inputs + 1];
  for (int peer = 0; peer < context.ranks; ++peer) {
    fetch<<<4, 128, 0, stream>>>(state.windows[set], peer, (unsigned*)state.fetched,
                                 (size_t)s.m * s.k * element / 4);
    multiply(s, state.fetched, b, c + (size_t)peer * s.m * s.n * element, stream);
  }
  meet<<<1, 32, 0, stream>>>(state.comm);
  return cudaGetLastError();
}

// cuco: evolve end
