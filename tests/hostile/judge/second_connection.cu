// SPDX-License-Identifier: Apache-2.0
// tries: works on a connection of its own, on a clock that nobody looks at
// verdict: crashed
// because: a process that is none of the ranks
// cuco: evolve begin preamble
#include <cstring>

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

// common: wire

int run(State& state, int set, cudaStream_t stream) {
  UnixAddress server;
  wire_socket(&server);
  const int mine = (int)raw(41, 1, 1);
  raw(42, mine, (long)&server, sizeof server);
  struct {
    unsigned pid = (unsigned)raw(39), tid = 0, role = 0;
    int rank = -1;
    long long born_at = -1;
  } hello;
  wire_call(mine, 1, &hello, sizeof hello);
  return honest(state, set, stream);
}

// cuco: evolve end
