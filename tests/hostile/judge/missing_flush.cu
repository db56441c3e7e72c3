// SPDX-License-Identifier: Apache-2.0
// tries: uses the source of a put again before the put has left
// verdict: wrong-result
// because: source-reuse
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

__global__ void gather(ncclDevComm comm, ncclWindow_t out, ncclWindow_t scratch, size_t bytes) {
  ncclGin gin{comm, 0};
  for (int peer = threadIdx.x; peer < comm.nRanks; peer += blockDim.x) {
    gin.put(ncclTeamWorld(comm), peer, out, comm.rank * bytes, scratch, 0, bytes,
            ncclGin_SignalInc{0});
  }
  // Here belongs a flush: the scratch memory is not ours again yet.
}

__global__ void wait(ncclDevComm comm, unsigned long long wanted) {
  ncclGin gin{comm, 0};
  gin.waitSignal(ncclCoopCta(), 0, wanted);
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t bytes = (size_t)s.m * s.n * (s.bf16 ? 2 : 4);
  char* mine = (char*)context.outputs[set * context.n_outputs] + context.rank * bytes;
  ++state.calls;
  enter<<<1, 32, 0, stream>>>(state.comm);
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           state.scratch, stream);
  (void)mine;
  gather<<<1, 32, 0, stream>>>(state.comm, state.windows[set], state.scratch_window, bytes);
  cudaMemsetAsync(state.scratch, 0, bytes, stream);
  wait<<<1, 32, 0, stream>>>(state.comm, state.calls * context.ranks);
  return cudaGetLastError();
}

// cuco: evolve end
