// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// kv_transfer by hand, over the network: one kernel computes K and V (blockIdx.z) tile by tile, and
// the last block of each strip of rows puts that strip to rank 1 (GIN) with a signal, while the
// other strips are still being computed. Rank 1 counts signals.
//
// width and model are multiples of 16; tokens is any number.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
#include <nccl_device.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

struct Shape {
  int tokens, model, width;
  bool bf16;
};

// cuco: evolve begin kernels

// Whether this block is the last of `blocks` that add to `arrived`; then everything they stored
// comes before what follows. Resets it for the next launch.
__device__ bool last_of(unsigned* arrived, unsigned blocks) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(arrived, 1) == blocks - 1;
    if (last) *arrived = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

// fp32: 64 x 64 of C per block, 4 x 4 per thread. `put` takes four neighbours of a row.
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kThreads = 256;

template <typename Put>
__device__ void gemm_fp32_tile(
    const float* __restrict__ a, const float* __restrict__ b, int m, int n, int k, Put put) {
  __shared__ __align__(16) float a_tile[2][kDepth][kTile + 4];  // transposed
  __shared__ __align__(16) float b_tile[2][kDepth][kTile + 4];
  const int thread = threadIdx.x;
  const int row0 = blockIdx.y * kTile;
  const int col0 = blockIdx.x * kTile;
  const int thread_row = thread / 16 * 4;
  const int thread_col = thread % 16 * 4;
  const int a_row = thread / 4;
  const int a_col = thread % 4 * 4;
  const int b_row = thread / 16;
  const int b_col = thread % 16 * 4;
  float4 av, bv;  // the next step, on its way
  const auto fetch = [&](int k0) {
    av = bv = make_float4(0, 0, 0, 0);
    if (row0 + a_row < m)
      av = *reinterpret_cast<const float4*>(&a[(size_t)(row0 + a_row) * k + k0 + a_col]);
    if (col0 + b_col < n)
      bv = *reinterpret_cast<const float4*>(&b[(size_t)(k0 + b_row) * n + col0 + b_col]);
  };

  float sum[4][4] = {};
  fetch(0);
  for (int k0 = 0, stage = 0; k0 < k; k0 += kDepth, stage ^= 1) {
    a_tile[stage][a_col + 0][a_row] = av.x;
    a_tile[stage][a_col + 1][a_row] = av.y;
    a_tile[stage][a_col + 2][a_row] = av.z;
    a_tile[stage][a_col + 3][a_row] = av.w;
    *reinterpret_cast<float4*>(&b_tile[stage][b_row][b_col]) = bv;
    __syncthreads();
    if (k0 + kDepth < k) fetch(k0 + kDepth);
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const float4 ar = *reinterpret_cast<const float4*>(&a_tile[stage][d][thread_row]);
      const float4 br = *reinterpret_cast<const float4*>(&b_tile[stage][d][thread_col]);
      const float ra[4] = {ar.x, ar.y, ar.z, ar.w};
      const float rb[4] = {br.x, br.y, br.z, br.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sum[i][j] += ra[i] * rb[j];
      }
    }
  }
  if (col0 + thread_col >= n) return;
  for (int i = 0; i < 4 && row0 + thread_row + i < m; ++i) {
    const float4 v = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    put((size_t)(row0 + thread_row + i) * n + col0 + thread_col,
        *reinterpret_cast<const uint4*>(&v));
  }
}

// bf16: 64 x 64 of C per block on the tensor cores, 32 x 32 per warp, three steps of depth in
// flight. `put` takes eight neighbours of a row.
constexpr int kTileBf16 = 64;
constexpr int kDepthBf16 = 32;
constexpr int kThreadsBf16 = 128;
constexpr int kPad = 8;
constexpr int kStages = 4;

struct StageBf16 {
  __nv_bfloat16 a[kTileBf16][kDepthBf16 + kPad];
  __nv_bfloat16 b[kDepthBf16][kTileBf16 + kPad];
};

template <typename Put>
__device__ void gemm_bf16_tile(const __nv_bfloat16* __restrict__ a,
                               const __nv_bfloat16* __restrict__ b,
                               int m,
                               int n,
                               int k,
                               Put put) {
  using namespace nvcuda;
  __shared__ __align__(16) StageBf16 stages[kStages];
  __shared__ __align__(16) float staging[kThreadsBf16 / 32][16][16];
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int row0 = blockIdx.y * kTileBf16;
  const int col0 = blockIdx.x * kTileBf16;
  const int warp_row = warp / 2 * 32;
  const int warp_col = warp % 2 * 32;
  // Starts the copy of one step of depth, 16 bytes at a time; what lies outside is zero.
  const auto fetch = [&](int step) {
    StageBf16& stage = stages[step % kStages];
    const int k0 = step * kDepthBf16;
    for (int i = thread; k0 < k && i < kTileBf16 * kDepthBf16 / 8; i += kThreadsBf16) {
      const int row = i / (kDepthBf16 / 8);
      const int col = i % (kDepthBf16 / 8) * 8;
      const bool inside = row0 + row < m && k0 + col < k;
      __pipeline_memcpy_async(&stage.a[row][col],
                              inside ? &a[(size_t)(row0 + row) * k + k0 + col] : a, 16,
                              inside ? 0 : 16);
    }
    for (int i = thread; k0 < k && i < kDepthBf16 * kTileBf16 / 8; i += kThreadsBf16) {
      const int row = i / (kTileBf16 / 8);
      const int col = i % (kTileBf16 / 8) * 8;
      const bool inside = k0 + row < k && col0 + col < n;
      __pipeline_memcpy_async(&stage.b[row][col],
                              inside ? &b[(size_t)(k0 + row) * n + col0 + col] : b, 16,
                              inside ? 0 : 16);
    }
    __pipeline_commit();
  };

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
  for (auto& row : sum) {
    for (auto& fragment : row)
      wmma::fill_fragment(fragment, 0.0f);
  }
  for (int step = 0; step < kStages - 1; ++step)
    fetch(step);
  for (int k0 = 0, step = 0; k0 < k; k0 += kDepthBf16, ++step) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // this step is here, and everybody is done with the one before
    fetch(step + kStages - 1);
    const StageBf16& stage = stages[step % kStages];
#pragma unroll
    for (int d = 0; d < kDepthBf16; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(fa[i], &stage.a[warp_row + 16 * i][d], kDepthBf16 + kPad);
        wmma::load_matrix_sync(fb[i], &stage.b[d][warp_col + 16 * i], kTileBf16 + kPad);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j)
          wmma::mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
      }
    }
  }
  __pipeline_wait_prior(0);

  // Through shared memory to 16-byte stores: half a row of a fragment per lane.
  const int lane_row = lane / 2;
  const int lane_col = lane % 2 * 8;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      wmma::store_matrix_sync(&staging[warp][0][0], sum[i][j], 16, wmma::mem_row_major);
      __syncwarp();
      const int row = row0 + warp_row + 16 * i + lane_row;
      const int col = col0 + warp_col + 16 * j + lane_col;
      if (row < m && col < n) {
        __align__(16) __nv_bfloat16 out[8];
        for (int e = 0; e < 8; ++e)
          out[e] = __float2bfloat16(staging[warp][lane_row][lane_col + e]);
        put((size_t)row * n + col, *reinterpret_cast<uint4*>(out));
      }
      __syncwarp();
    }
  }
}

// Where the two projections go, on both ranks.
struct Outputs {
  ncclWindow_t window[2];
};

constexpr ncclGinSignal_t kStrips = 0;   // strips that have arrived, ever
constexpr ncclGinSignal_t kEntered = 1;  // runs that rank 1 has entered: its outputs may be written

// Called by all blocks: the last one of a strip of `rows` rows sends it.
__device__ void put_strip(const ncclDevComm& comm,
                          uint64_t launch,
                          ncclWindow_t window,
                          unsigned* arrived,
                          int rows,
                          int m,
                          size_t row) {
  if (!last_of(&arrived[blockIdx.z * gridDim.y + blockIdx.y], gridDim.x)) return;
  if (threadIdx.x >= 32) return;
  ncclGin gin(comm, 0);
  const int first = blockIdx.y * rows;
  const size_t bytes = (size_t)(min(rows, m - first)) * row;
  gin.waitSignal(ncclCoopWarp(), kEntered, launch);
  if (threadIdx.x == 0) {
    gin.put(ncclTeamWorld(comm), 1, window, first * row, window, first * row, bytes,
            ncclGin_SignalInc{kStrips});
  }
  __syncwarp();
  gin.flush(ncclCoopWarp());
}

__global__ void __launch_bounds__(kThreads) project_fp32(ncclDevComm comm,
                                                         uint64_t launch,
                                                         const float* x,
                                                         const float* wk,
                                                         const float* wv,
                                                         Outputs out,
                                                         int m,
                                                         int n,
                                                         int k,
                                                         unsigned* arrived) {
  const ncclWindow_t window = out.window[blockIdx.z];
  float* mine = (float*)ncclGetLocalPointer(window, 0);
  gemm_fp32_tile(x, blockIdx.z == 0 ? wk : wv, m, n, k,
                 [=](size_t at, uint4 v) { *reinterpret_cast<uint4*>(&mine[at]) = v; });
  put_strip(comm, launch, window, arrived, kTile, m, n * sizeof(*x));
}

__global__ void __launch_bounds__(kThreadsBf16) project_bf16(ncclDevComm comm,
                                                             uint64_t launch,
                                                             const __nv_bfloat16* x,
                                                             const __nv_bfloat16* wk,
                                                             const __nv_bfloat16* wv,
                                                             Outputs out,
                                                             int m,
                                                             int n,
                                                             int k,
                                                             unsigned* arrived) {
  const ncclWindow_t window = out.window[blockIdx.z];
  __nv_bfloat16* mine = (__nv_bfloat16*)ncclGetLocalPointer(window, 0);
  gemm_bf16_tile(x, blockIdx.z == 0 ? wk : wv, m, n, k,
                 [=](size_t at, uint4 v) { *reinterpret_cast<uint4*>(&mine[at]) = v; });
  put_strip(comm, launch, window, arrived, kTileBf16, m, n * sizeof(*x));
}

__global__ void receive(ncclDevComm comm, uint64_t strips) {
  ncclGin gin(comm, 0);
  gin.signal(ncclTeamWorld(comm), 0, ncclGin_SignalInc{kEntered}, ncclCoopCta());
  gin.waitSignal(ncclCoopCta(), kStrips, strips);
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
  ncclDevComm comm;
  ncclWindow_t* windows;  // [set * 2 + output]
  unsigned* arrived;      // per strip: blocks that are done
  uint64_t expected;      // signals that rank 1 has waited for, ever
  uint64_t launch;        // 1, 2, 3, …
};

// Strips of rows of K and V together.
size_t strips(const Shape& s) {
  const int rows = s.bf16 ? kTileBf16 : kTile;
  return 2 * (size_t)((s.tokens + rows - 1) / rows);
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  const int count = context.sets * context.n_outputs;
  State& s = *(*state = new State{context, shape, {}, new ncclWindow_t[count], nullptr, 0, 0});
  for (int i = 0; i < count; ++i) {
    if (ncclCommWindowRegister(context.comm, context.outputs[i],
                               context.output_bytes[i % context.n_outputs], &s.windows[i],
                               NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  ncclDevCommRequirements requirements{};
  requirements.ginSignalCount = 2;
  if (ncclDevCommCreate(context.comm, &requirements, &s.comm) != ncclSuccess) return 2;
  if (cudaMalloc(&s.arrived, strips(shape) * sizeof(unsigned)) != cudaSuccess) return 3;
  return cudaMemset(s.arrived, 0, strips(shape) * sizeof(unsigned)) == cudaSuccess ? 0 : 3;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  void* const* in = context.inputs + set * context.n_inputs;  // X, Wk, Wv
  const Outputs out = {{state.windows[2 * set], state.windows[2 * set + 1]}};
  const int tile = s.bf16 ? kTileBf16 : kTile;
  const dim3 grid((s.width + tile - 1) / tile, (s.tokens + tile - 1) / tile, 2);
  ++state.launch;
  if (context.rank != 0) {
    state.expected += strips(s);
    receive<<<1, 32, 0, stream>>>(state.comm, state.expected);
  } else if (s.bf16) {
    using T = const __nv_bfloat16*;
    project_bf16<<<grid, kThreadsBf16, 0, stream>>>(state.comm, state.launch, (T)in[0], (T)in[1],
                                                    (T)in[2], out, s.tokens, s.width, s.model,
                                                    state.arrived);
  } else {
    using T = const float*;
    project_fp32<<<grid, kThreads, 0, stream>>>(state.comm, state.launch, (T)in[0], (T)in[1],
                                                (T)in[2], out, s.tokens, s.width, s.model,
                                                state.arrived);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 4;
}

void teardown(State* state) {
  ncclDevCommDestroy(state->context.comm, &state->comm);
  const int count = state->context.sets * state->context.n_outputs;
  for (int i = 0; i < count; ++i)
    ncclCommWindowDeregister(state->context.comm, state->windows[i]);
  cudaFree(state->arrived);
  delete[] state->windows;
  delete state;
}

// cuco: evolve end

}  // namespace

extern "C" int cuco_setup(const cuco_context* context, void** state) {
  const Shape shape = {(int)context->params[0], (int)context->params[1], (int)context->params[2],
                       context->params[3] != 0};
  return setup(*context, shape, (State**)state);
}

extern "C" int cuco_run(void* state, int set, cudaStream_t stream) {
  return run(*(State*)state, set, stream);
}

extern "C" void cuco_teardown(void* state) {
  teardown((State*)state);
}
