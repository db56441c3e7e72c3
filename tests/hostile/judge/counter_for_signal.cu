// SPDX-License-Identifier: Apache-2.0
// tries: waits until its own puts have left, not until its peers' have come
// verdict: findings
// because: without having waited for signal
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

// common: gin

__global__ void gather(ncclDevComm comm,
                       ncclWindow_t out,
                       size_t bytes,
                       unsigned long long wanted) {
  ncclGin gin{comm, 0};
  for (int peer = threadIdx.x; peer < comm.nRanks; peer += blockDim.x) {
    if (peer == comm.rank) continue;
    gin.put(ncclTeamWorld(comm), peer, out, comm.rank * bytes, out, comm.rank * bytes, bytes,
            ncclGin_SignalInc{0}, ncclGin_CounterInc{0});
  }
  gin.waitCounter(ncclCoopCta(), 0, wanted);
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t bytes = (size_t)s.m * s.n * (s.bf16 ? 2 : 4);
  char* mine = (char*)context.outputs[set * context.n_outputs] + context.rank * bytes;
  ++state.calls;
  enter<<<1, 32, 0, stream>>>(state.comm);
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           mine, stream);
  gather<<<1, 32, 0, stream>>>(state.comm, state.windows[set], bytes,
                               state.calls * (context.ranks - 1));
  return cudaGetLastError();
}

// cuco: evolve end
