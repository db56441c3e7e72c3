// SPDX-License-Identifier: Apache-2.0
// tries: meets its peers at the server's rendezvous, which costs nothing, instead of a barrier
// verdict: crashed
// because: judged ranks may not use host clocks or host waits
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
  struct {
    unsigned long long key = 77;
    unsigned scope = 1, count = 4, kind = 5, reserved = 0;
  } meeting;
  UnixAddress server;
  wire_call(wire_socket(&server), 10, &meeting, sizeof meeting);
  return honest(state, set, stream);
}

// cuco: evolve end
