// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// Prefill to decode: rank 0 projects its tokens onto keys and values, K = X·Wk and V = X·Wv, and
// rank 1 needs both. The host drives it: two GEMMs, then ncclSend and ncclRecv.
//
// width and model are multiples of 16; tokens is any number.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

struct Shape {
  int tokens, model, width;
  bool bf16;
};

// cuco: evolve begin kernels

// fp32: 64 x 64 of C per block, 4 x 4 per thread.
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) gemm_fp32(const float* __restrict__ a,
                                                      const float* __restrict__ b,
                                                      float* __restrict__ c,
                                                      int m,
                                                      int n,
                                                      int k) {
  __shared__ __align__(
      16) float a_tile[kDepth][kTile + 4];  // transposed, so that a thread reads 4 rows at once
  __shared__ __align__(16) float b_tile[kDepth][kTile + 4];
  const int thread = threadIdx.x;
  const int row0 = blockIdx.y * kTile;
  const int col0 = blockIdx.x * kTile;
  const int thread_row = thread / 16 * 4;
  const int thread_col = thread % 16 * 4;

  float sum[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    const int a_row = thread / 4;
    const int a_col = thread % 4 * 4;
    float4 av = make_float4(0, 0, 0, 0);
    if (row0 + a_row < m) {
      av = *reinterpret_cast<const float4*>(&a[(size_t)(row0 + a_row) * k + k0 + a_col]);
    }
    a_tile[a_col + 0][a_row] = av.x;
    a_tile[a_col + 1][a_row] = av.y;
    a_tile[a_col + 2][a_row] = av.z;
    a_tile[a_col + 3][a_row] = av.w;

    const int b_row = thread / 16;
    const int b_col = thread % 16 * 4;
    float4 bv = make_float4(0, 0, 0, 0);
    if (col0 + b_col < n) {
      bv = *reinterpret_cast<const float4*>(&b[(size_t)(k0 + b_row) * n + col0 + b_col]);
    }
    *reinterpret_cast<float4*>(&b_tile[b_row][b_col]) = bv;
    __syncthreads();

#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const float4 ar = *reinterpret_cast<const float4*>(&a_tile[d][thread_row]);
      const float4 br = *reinterpret_cast<const float4*>(&b_tile[d][thread_col]);
      const float ra[4] = {ar.x, ar.y, ar.z, ar.w};
      const float rb[4] = {br.x, br.y, br.z, br.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sum[i][j] += ra[i] * rb[j];
      }
    }
    __syncthreads();
  }

  if (col0 + thread_col >= n) return;
  for (int i = 0; i < 4 && row0 + thread_row + i < m; ++i) {
    *reinterpret_cast<float4*>(&c[(size_t)(row0 + thread_row + i) * n + col0 + thread_col]) =
        make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
  }
}

// bf16: 128 x 128 of C per block on the tensor cores, 64 x 32 per warp, sums in fp32.
constexpr int kTileBf16 = 128;
constexpr int kDepthBf16 = 32;
constexpr int kPad = 8;
constexpr int kStages = 2;

struct StageBf16 {
  __nv_bfloat16 a[kTileBf16][kDepthBf16 + kPad];
  __nv_bfloat16 b[kDepthBf16][kTileBf16 + kPad];
};

// Starts the copy of one step of depth into `stage`, 16 bytes at a time; what lies outside is zero.
__device__ void fetch(StageBf16& stage,
                      const __nv_bfloat16* a,
                      const __nv_bfloat16* b,
                      int row0,
                      int col0,
                      int k0,
                      int m,
                      int n,
                      int k) {
  for (int i = threadIdx.x; i < kTileBf16 * kDepthBf16 / 8; i += kThreads) {
    const int row = i / (kDepthBf16 / 8);
    const int col = i % (kDepthBf16 / 8) * 8;
    const bool inside = row0 + row < m && k0 + col < k;
    __pipeline_memcpy_async(&stage.a[row][col],
                            inside ? &a[(size_t)(row0 + row) * k + k0 + col] : a, 16,
                            inside ? 0 : 16);
  }
  for (int i = threadIdx.x; i < kDepthBf16 * kTileBf16 / 8; i += kThreads) {
    const int row = i / (kTileBf16 / 8);
    const int col = i % (kTileBf16 / 8) * 8;
    const bool inside = k0 + row < k && col0 + col < n;
    __pipeline_memcpy_async(&stage.b[row][col],
                            inside ? &b[(size_t)(k0 + row) * n + col0 + col] : b, 16,
                            inside ? 0 : 16);
  }
  __pipeline_commit();
}

__global__ void __launch_bounds__(kThreads) gemm_bf16(const __nv_bfloat16* __restrict__ a,
                                                      const __nv_bfloat16* __restrict__ b,
                                                      __nv_bfloat16* __restrict__ c,
                                                      int m,
                                                      int n,
                                                      int k) {
  using namespace nvcuda;
  __shared__ __align__(16) StageBf16 stages[kStages];
  __shared__ __align__(16) float staging[kThreads / 32][16][16];
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int row0 = blockIdx.y * kTileBf16;
  const int col0 = blockIdx.x * kTileBf16;
  const int warp_row = warp / 4 * 64;
  const int warp_col = warp % 4 * 32;

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][2];
  for (auto& row : sum) {
    for (auto& fragment : row)
      wmma::fill_fragment(fragment, 0.0f);
  }

  fetch(stages[0], a, b, row0, col0, 0, m, n, k);
  for (int k0 = 0, step = 0; k0 < k; k0 += kDepthBf16, ++step) {
    // The next step is on its way while this one is multiplied.
    const bool more = k0 + kDepthBf16 < k;
    if (more) fetch(stages[(step + 1) % kStages], a, b, row0, col0, k0 + kDepthBf16, m, n, k);
    __pipeline_wait_prior(more ? 1 : 0);
    __syncthreads();
    const StageBf16& stage = stages[step % kStages];

#pragma unroll
    for (int d = 0; d < kDepthBf16; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa[4];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb[2];
      for (int i = 0; i < 4; ++i) {
        wmma::load_matrix_sync(fa[i], &stage.a[warp_row + 16 * i][d], kDepthBf16 + kPad);
      }
      for (int j = 0; j < 2; ++j) {
        wmma::load_matrix_sync(fb[j], &stage.b[d][warp_col + 16 * j], kTileBf16 + kPad);
      }
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 2; ++j)
          wmma::mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
      }
    }
    __syncthreads();
  }

  // Through shared memory to 16-byte stores: half a row of a fragment per lane.
  const int lane_row = lane / 2;
  const int lane_col = lane % 2 * 8;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 2; ++j) {
      wmma::store_matrix_sync(&staging[warp][0][0], sum[i][j], 16, wmma::mem_row_major);
      __syncwarp();
      const int row = row0 + warp_row + 16 * i + lane_row;
      const int col = col0 + warp_col + 16 * j + lane_col;
      if (row < m && col < n) {
        __align__(16) __nv_bfloat16 out[8];
        for (int e = 0; e < 8; ++e) {
          out[e] = __float2bfloat16(staging[warp][lane_row][lane_col + e]);
        }
        *reinterpret_cast<uint4*>(&c[(size_t)row * n + col]) = *reinterpret_cast<uint4*>(out);
      }
      __syncwarp();
    }
  }
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
};

// out[tokens, width] = x[tokens, model] · w[model, width]
cudaError_t project(const Shape& s, const void* x, const void* w, void* out, cudaStream_t stream) {
  const int tile = s.bf16 ? kTileBf16 : kTile;
  const dim3 grid((s.width + tile - 1) / tile, (s.tokens + tile - 1) / tile);
  if (s.bf16) {
    gemm_bf16<<<grid, kThreads, 0, stream>>>((const __nv_bfloat16*)x, (const __nv_bfloat16*)w,
                                             (__nv_bfloat16*)out, s.tokens, s.width, s.model);
  } else {
    gemm_fp32<<<grid, kThreads, 0, stream>>>((const float*)x, (const float*)w, (float*)out,
                                             s.tokens, s.width, s.model);
  }
  return cudaGetLastError();
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  return 0;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& shape = state.shape;
  void* const* in = context.inputs + set * context.n_inputs;     // X, Wk, Wv
  void* const* out = context.outputs + set * context.n_outputs;  // K, V
  const size_t count = (size_t)shape.tokens * shape.width;
  const ncclDataType_t type = shape.bf16 ? ncclBfloat16 : ncclFloat32;

  if (context.rank == 0) {
    for (int i = 0; i < 2; ++i) {
      if (project(shape, in[0], in[1 + i], out[i], stream) != cudaSuccess) return 1;
    }
  }
  ncclGroupStart();
  for (int i = 0; i < 2; ++i) {
    if (context.rank == 0) {
      ncclSend(out[i], count, type, 1, context.comm, stream);
    } else {
      ncclRecv(out[i], count, type, 0, context.comm, stream);
    }
  }
  return ncclGroupEnd() == ncclSuccess ? 0 : 2;
}

void teardown(State* state) {
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
