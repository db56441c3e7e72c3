// SPDX-License-Identifier: Apache-2.0
// tries: one warp puts rows that the other warps of its block are still writing
// verdict: wrong-result
// because: unordered-read
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

__global__ void produce_and_put(ncclDevComm comm,
                                ncclWindow_t out,
                                const float* made,
                                size_t bytes,
                                unsigned long long wanted) {
  ncclGin gin{comm, 0};
  if (threadIdx.x < 32) {  // here belongs a __syncthreads(), after the copy
    if (threadIdx.x < comm.nRanks && threadIdx.x != comm.rank) {
      gin.put(ncclTeamWorld(comm), threadIdx.x, out, comm.rank * bytes, out, comm.rank * bytes,
              bytes, ncclGin_SignalInc{0});
    }
  } else {
    float* mine = (float*)ncclGetLocalPointer(out, comm.rank * bytes);
    for (size_t i = threadIdx.x - 32; i < bytes / 4; i += blockDim.x - 32)
      mine[i] = made[i];
  }
  __syncthreads();
  gin.waitSignal(ncclCoopCta(), 0, wanted);
  gin.flush(ncclCoopCta());
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
  produce_and_put<<<1, 128, 0, stream>>>(state.comm, state.windows[set], (float*)state.scratch,
                                         bytes, state.calls * (context.ranks - 1));
  return cudaGetLastError();
}

// cuco: evolve end
