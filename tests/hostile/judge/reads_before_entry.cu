// SPDX-License-Identifier: Apache-2.0
// tries: reads a peer's inputs before the peer has entered the call
// verdict: findings
// because: has entered the same call
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

struct State {
  cuco_context context;
  Shape shape;
  ncclDevComm comm;
  ncclWindow_t windows[16];  // of A, one per buffer set
  char* fetched;             // A of one peer
};

cudaError_t multiply(const Shape& s, const void* a, const void* b, void* c, cudaStream_t stream) {
  const int tile = s.bf16 ? kTileBf16 : kTile;
  const dim3 grid((s.n + tile - 1) / tile, (s.m + tile - 1) / tile);
  if (s.bf16) {
    cudaFuncSetAttribute(gemm_bf16, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBf16);
    gemm_bf16<<<grid, kThreadsBf16, kSharedBf16, stream>>>(
        (const __nv_bfloat16*)a, (const __nv_bfloat16*)b, (__nv_bfloat16*)c, s.m, s.n, s.k);
  } else {
    gemm_fp32<<<grid, kThreads, 0, stream>>>((const float*)a, (const float*)b, (float*)c, s.m, s.n,
                                             s.k);
  }
  return cudaGetLastError();
}

__global__ void meet(ncclDevComm comm) {
  ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier(block, comm, ncclTeamTagLsa(), 0);
  barrier.sync(block, cuda::memory_order_acq_rel);
}

__global__ void fetch(ncclWindow_t window, int peer, unsigned* to, size_t words) {
  const unsigned* from = (const unsigned*)ncclGetLsaPointer(window, 0, peer);
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
    to[i] = from[i];
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  for (int set = 0; set < context.sets; ++set) {
    if (ncclCommWindowRegister(context.comm, context.inputs[set * context.n_inputs],
                               context.input_bytes[0], &(*state)->windows[set],
                               NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  if (cudaMalloc(&(*state)->fetched, context.input_bytes[0]) != cudaSuccess) return 2;
  ncclDevCommRequirements requirements{};
  requirements.lsaBarrierCount = 1;
  return ncclDevCommCreate(context.comm, &requirements, &(*state)->comm) == ncclSuccess ? 0 : 3;
}

void teardown(State* state) {
  ncclDevCommDestroy(state->context.comm, &state->comm);
  for (int set = 0; set < state->context.sets; ++set)
    ncclCommWindowDeregister(state->context.comm, state->windows[set]);
  cudaFree(state->fetched);
  delete state;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const size_t element = s.bf16 ? 2 : 4;
  char* c = (char*)context.outputs[set * context.n_outputs];
  const void* b = context.inputs[set * context.n_inputs + 1];
  for (int peer = 0; peer < context.ranks; ++peer) {
    fetch<<<4, 128, 0, stream>>>(state.windows[set], peer, (unsigned*)state.fetched,
                                 (size_t)s.m * s.k * element / 4);
    multiply(s, state.fetched, b, c + (size_t)peer * s.m * s.n * element, stream);
  }
  meet<<<1, 32, 0, stream>>>(state.comm);
  return cudaGetLastError();
}

// cuco: evolve end
