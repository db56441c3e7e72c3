// SPDX-License-Identifier: Apache-2.0
// Puts between nodes: a world barrier says that everybody has entered, a signal per source that its
// rows have arrived, a flush that ours have left.
// cuco: evolve begin preamble
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#include <nccl_device.h>
// cuco: evolve end
// cuco: evolve begin host

cudaError_t multiply(const Shape& s, const void* a, const void* b, void* c, cudaStream_t stream) {
  const int tile = s.bf16 ? kTileBf16 : kTile;
  const dim3 grid((s.n + tile - 1) / tile, (s.m + tile - 1) / tile);
  if (s.bf16) {
    gemm_bf16<<<grid, kThreads, 0, stream>>>((const __nv_bfloat16*)a, (const __nv_bfloat16*)b,
                                             (__nv_bfloat16*)c, s.m, s.n, s.k);
  } else {
    gemm_fp32<<<grid, kThreads, 0, stream>>>((const float*)a, (const float*)b, (float*)c, s.m, s.n,
                                             s.k);
  }
  return cudaGetLastError();
}

struct State {
  cuco_context context;
  Shape shape;
  ncclDevComm comm;
  ncclWindow_t windows[16];  // of the outputs, one per buffer set
  unsigned long long epoch;  // calls so far
};

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  for (int set = 0; set < context.sets; ++set) {
    if (ncclCommWindowRegister(context.comm, context.outputs[set], context.output_bytes[0],
                               &(*state)->windows[set], NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  ncclDevCommRequirements requirements{};
  requirements.barrierCount = 1;
  requirements.ginSignalCount = 16;
  return ncclDevCommCreate(context.comm, &requirements, &(*state)->comm) == ncclSuccess ? 0 : 2;
}

__global__ void gather(ncclDevComm comm,
                       ncclWindow_t out,
                       size_t bytes,
                       unsigned long long epoch) {
  ncclGin gin{comm, 0};
  ncclCoopCta block;
  ncclBarrierSession<ncclCoopCta> barrier(block, ncclTeamTagWorld(), gin, 0);
  barrier.sync(block, cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
  for (int peer = threadIdx.x; peer < comm.nRanks; peer += blockDim.x) {
    if (peer == comm.rank) continue;
    gin.put(ncclTeamWorld(comm), peer, out, comm.rank * bytes, out, comm.rank * bytes, bytes,
            ncclGin_SignalInc{(ncclGinSignal_t)comm.rank});
  }
  for (int source = 0; source < comm.nRanks; ++source) {
    if (source != comm.rank) gin.waitSignal(block, (ncclGinSignal_t)source, epoch);
  }
  gin.flush(block);
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t bytes = (size_t)s.m * s.n * (s.bf16 ? 2 : 4);
  char* mine = (char*)context.outputs[set * context.n_outputs] + context.rank * bytes;
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           mine, stream);

  ++state.epoch;
  gather<<<1, 32, 0, stream>>>(state.comm, state.windows[set], bytes, state.epoch);
  return cudaGetLastError();
}

void teardown(State* state) {
  ncclDevCommDestroy(state->context.comm, &state->comm);
  for (int set = 0; set < state->context.sets; ++set) {
    ncclCommWindowDeregister(state->context.comm, state->windows[set]);
  }
  delete state;
}

// cuco: evolve end
