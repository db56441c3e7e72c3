// SPDX-License-Identifier: Apache-2.0
// Every block counts its copy on the peer that it wrote to; a rank waits for all blocks of all peers
// of all calls so far. An LSA barrier before the copies says that everybody has entered the call.
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
  void* flags;
  ncclWindow_t flag_window;
  unsigned* counter;  // of blocks, this rank only
  unsigned epoch;     // calls so far
};

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  State& s = **state;
  for (int set = 0; set < context.sets; ++set) {
    if (ncclCommWindowRegister(context.comm, context.outputs[set], context.output_bytes[0],
                               &s.windows[set], NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  if (ncclMemAlloc(&s.flags, 4096) != ncclSuccess || cudaMemset(s.flags, 0, 4096) != cudaSuccess ||
      ncclCommWindowRegister(context.comm, s.flags, 4096, &s.flag_window,
                             NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
    return 2;
  }
  if (cudaMalloc(&s.counter, 4) != cudaSuccess || cudaMemset(s.counter, 0, 4) != cudaSuccess) {
    return 3;
  }
  ncclDevCommRequirements requirements{};
  requirements.lsaBarrierCount = 1;
  return ncclDevCommCreate(context.comm, &requirements, &s.comm) == ncclSuccess &&
                 cudaDeviceSynchronize() == cudaSuccess
             ? 0
             : 4;
}

void teardown(State* state) {
  ncclDevCommDestroy(state->context.comm, &state->comm);
  ncclCommWindowDeregister(state->context.comm, state->flag_window);
  for (int set = 0; set < state->context.sets; ++set) {
    ncclCommWindowDeregister(state->context.comm, state->windows[set]);
  }
  ncclMemFree(state->flags);
  cudaFree(state->counter);
  delete state;
}

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

__device__ unsigned* flag_of(ncclWindow_t flags, int word, int owner) {
  return (unsigned*)ncclGetLsaPointer(flags, word * sizeof(unsigned), owner);
}

// Copies this rank's rows to a peer, 16 bytes at a time, by all threads of the grid.
__device__ void copy_to(ncclWindow_t out, size_t offset, size_t bytes, int rank, int peer) {
  const uint4* from = (const uint4*)ncclGetLsaPointer(out, offset, rank);
  uint4* to = (uint4*)ncclGetLsaPointer(out, offset, peer);
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes / 16;
       i += (size_t)gridDim.x * blockDim.x) {
    to[i] = from[i];
  }
}

constexpr int kBlocks = 4;

__global__ void enter(ncclDevComm comm) {
  ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier(block, comm, ncclTeamTagLsa(), 0);
  barrier.sync(block, cuda::memory_order_acq_rel);
}

__global__ void gather(ncclWindow_t flags, ncclWindow_t out, size_t bytes, int rank, int ranks) {
  for (int i = 1; i < ranks; ++i) {
    const int peer = (rank + i) % ranks;
    copy_to(out, rank * bytes, bytes, rank, peer);
    __syncthreads();
    if (threadIdx.x == 0) {
      Flag(*flag_of(flags, rank, peer)).fetch_add(1, cuda::memory_order_release);
    }
  }
}

__global__ void all_arrived(ncclWindow_t flags, int rank, int ranks, unsigned epoch) {
  const int source = threadIdx.x;
  if (source >= ranks || source == rank) return;
  Flag count(*flag_of(flags, source, rank));
  while ((int)(count.load(cuda::memory_order_acquire) - epoch * kBlocks) < 0) {
  }
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t bytes = (size_t)s.m * s.n * (s.bf16 ? 2 : 4);
  char* mine = (char*)context.outputs[set * context.n_outputs] + context.rank * bytes;
  multiply(s, context.inputs[set * context.n_inputs], context.inputs[set * context.n_inputs + 1],
           mine, stream);

  ++state.epoch;
  enter<<<1, 32, 0, stream>>>(state.comm);
  gather<<<kBlocks, 128, 0, stream>>>(state.flag_window, state.windows[set], bytes, context.rank,
                                      context.ranks);
  all_arrived<<<1, 32, 0, stream>>>(state.flag_window, context.rank, context.ranks, state.epoch);
  return cudaGetLastError();
}

// cuco: evolve end
