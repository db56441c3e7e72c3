// SPDX-License-Identifier: Apache-2.0
// tries: passes rows between ranks by files in /dev/shm, without the C library
// verdict: findings
// because: host
// cuco: evolve begin preamble
#include <cstdlib>

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
// cuco: evolve end
// cuco: evolve begin host

// common: state

// common: setup

// common: raw

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t bytes = (size_t)s.m * s.n * (s.bf16 ? 2 : 4);
  char* c = (char*)context.outputs[set * context.n_outputs];
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           c + context.rank * bytes, stream);
  char* rows = (char*)malloc(bytes);
  cudaMemcpyAsync(rows, c + context.rank * bytes, bytes, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  char name[] = "/dev/shm/0000";
  name[9] += state.calls++;
  name[10] += context.rank;
  const long file = raw(2, (long)name, 01 | 0100, 0666);
  raw(1, file, (long)rows, bytes);
  raw(3, file);
  name[11] = '1';  // a second, empty file says that the first is complete
  raw(3, raw(2, (long)name, 01 | 0100, 0666));
  for (int peer = 0; peer < context.ranks; ++peer) {
    name[10] = '0' + peer;
    name[11] = '1';
    while (raw(21, (long)name) != 0) {
    }
    name[11] = '0';
    const long theirs = raw(2, (long)name);
    raw(0, theirs, (long)rows, bytes);
    raw(3, theirs);
    cudaMemcpyAsync(c + peer * bytes, rows, bytes, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
  }
  free(rows);
  return 0;
}

// cuco: evolve end
