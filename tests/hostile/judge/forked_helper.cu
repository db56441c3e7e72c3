// SPDX-License-Identifier: Apache-2.0
// tries: a child process with a connection of its own, whose work is nobody's
// verdict: crashed
// because: none of the ranks
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
  if (state.calls++ == 0 && raw(57) == 0) {
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
    raw(60, 0);
  }
  return honest(state, set, stream);
}

// cuco: evolve end
