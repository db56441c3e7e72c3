// SPDX-License-Identifier: Apache-2.0
// tries: lets two blocks store different rows, alike in what each warp stores first; the later counts
// verdict: findings
// because: global-race
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

__device__ unsigned long long turn;

__global__ void store_rows(const uint4* rows, uint4* out, size_t count, unsigned long long call) {
  const bool is_right = blockIdx.x == 1 || threadIdx.x < 24;
  if (blockIdx.x == 1) {
    while (atomicAdd(&turn, 0) < call) {
    }
  }
  for (size_t i = threadIdx.x; i < count; i += blockDim.x)
    out[i] = is_right ? rows[i] : make_uint4(0, 0, 0, 0);
  __syncwarp();
  if (blockIdx.x == 0 && threadIdx.x == 0) atomicMax(&turn, call);
}

__global__ void gather(ncclDevComm comm,
                       ncclWindow_t out,
                       size_t bytes,
                       unsigned long long wanted) {
  ncclGin gin{comm, 0};
  for (int peer = threadIdx.x; peer < comm.nRanks; peer += blockDim.x) {
    if (peer == comm.rank) continue;
    gin.put(ncclTeamWorld(comm), peer, out, comm.rank * bytes, out, comm.rank * bytes, bytes,
            ncclGin_SignalInc{0});
  }
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
  store_rows<<<2, 32, 0, stream>>>((const uint4*)state.scratch, (uint4*)mine, bytes / 16,
                                 state.calls);
  gather<<<1, 32, 0, stream>>>(state.comm, state.windows[set], bytes,
                               state.calls * (context.ranks - 1));
  return cudaGetLastError();
}

// cuco: evolve end
