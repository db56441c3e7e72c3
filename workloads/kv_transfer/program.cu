// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// Prefill to decode: rank 0 projects its tokens onto keys and values, K = X·Wk and V = X·Wv, and
// rank 1 needs both. The host drives it: two GEMMs, then ncclSend and ncclRecv.
//
// width and model are multiples of 16; tokens is any number.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
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

// bf16: 128 x 128 of C per block on the tensor cores, 64 x 64 per warp, sums in fp32.
constexpr int kTileBf16 = 128;
constexpr int kDepthBf16 = 64;  // of one step
constexpr int kThreadsBf16 = 128;
constexpr int kStages = 3;  // steps in shared memory: one is multiplied, two are on their way
constexpr int kChunk = 8;   // elements that are moved together: 16 bytes

struct StageBf16 {
  __nv_bfloat16 a[kTileBf16 * kDepthBf16];
  __nv_bfloat16 b[kDepthBf16 * kTileBf16];
};

constexpr int kSharedBf16 = kStages * sizeof(StageBf16);

// Where a chunk lies in a tile of rows of `width` elements. ldmatrix reads the same chunk of eight
// neighbouring rows at once. A row has a multiple of 128 bytes, all 32 banks, so they would all be
// in the same four; xor with the row's number spreads them over eight times four.
__device__ int place(int row, int chunk, int width) {
  return row * width + (chunk ^ row % 8) * kChunk;
}

__device__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices; lane i gives the address of row i % 8 of matrix i / 8.
template <bool kTransposed>
__device__ void load_matrices(unsigned (&r)[4], const void* row) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(row);
  if (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
  }
}

// What a warp multiplies at once: 64 rows of A and 64 columns of B, 16 deep.
struct Fragments {
  unsigned a[4][4];
  unsigned b[4][4];  // each 16 columns: two of mma's operands

  __device__ void load(const StageBf16& stage, int row, int col, int depth) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      load_matrices<false>(
          a[i], &stage.a[place(row + 16 * i + lane % 16, depth / kChunk + lane / 16, kDepthBf16)]);
      load_matrices<true>(
          b[i], &stage.b[place(depth + lane % 16, (col + 16 * i) / kChunk + lane / 16, kTileBf16)]);
    }
  }
};

__global__ void __launch_bounds__(kThreadsBf16) gemm_bf16(const __nv_bfloat16* __restrict__ a,
                                                          const __nv_bfloat16* __restrict__ b,
                                                          __nv_bfloat16* __restrict__ c,
                                                          int m,
                                                          int n,
                                                          int k) {
  extern __shared__ __align__(128) char shared[];
  StageBf16* stages = reinterpret_cast<StageBf16*>(shared);
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int row0 = blockIdx.y * kTileBf16;
  const int col0 = blockIdx.x * kTileBf16;
  const int warp_row = warp / 2 * 64;
  const int warp_col = warp % 2 * 64;

  // Starts the copy of a step, and counts it even where there is none left. Every thread copies one
  // chunk of each 16th row of A and of each 8th row of B; what lies outside is zero.
  constexpr int kChunksA = kDepthBf16 / kChunk;
  constexpr int kChunksB = kTileBf16 / kChunk;
  const int a_row = thread / kChunksA;
  const int a_col = thread % kChunksA * kChunk;
  const int b_row = thread / kChunksB;
  const int b_col = thread % kChunksB * kChunk;
  const __nv_bfloat16* a_next = a + (size_t)(row0 + a_row) * k + a_col;
  const __nv_bfloat16* b_next = b + (size_t)b_row * n + col0 + b_col;
  const int a_rows = m - row0 - a_row;
  const bool b_inside = col0 + b_col < n;
  const auto fetch = [&](int step) {
    StageBf16& stage = stages[step % kStages];
    const int depth = k - step * kDepthBf16;
    if (depth > 0) {
#pragma unroll
      for (int row = 0; row < kTileBf16; row += kThreadsBf16 / kChunksA) {
        const bool inside = row < a_rows && a_col < depth;
        __pipeline_memcpy_async(
            &stage.a[place(a_row, a_col / kChunk, kDepthBf16) + row * kDepthBf16],
            inside ? a_next + row * k : a, 16, inside ? 0 : 16);
      }
#pragma unroll
      for (int row = 0; row < kDepthBf16; row += kThreadsBf16 / kChunksB) {
        const bool inside = b_inside && b_row + row < depth;
        __pipeline_memcpy_async(&stage.b[place(b_row, b_col / kChunk, kTileBf16) + row * kTileBf16],
                                inside ? b_next + row * n : b, 16, inside ? 0 : 16);
      }
      a_next += kDepthBf16;
      b_next += (size_t)kDepthBf16 * n;
    }
    __pipeline_commit();
  };
  // Returns when the next step is there for all, and all have read the one whose place is next.
  const auto await_step = [] {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
  };

  // Two pipelines: steps come to shared memory while others are multiplied, and within a step the
  // next fragments come to registers.
  float sum[4][8][4] = {};
  Fragments fragments[2];
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step)
    fetch(step);
  await_step();
  fragments[0].load(stages[0], warp_row, warp_col, 0);
  for (int step = 0; step * kDepthBf16 < k; ++step) {
#pragma unroll
    for (int d = 0; d < kDepthBf16; d += 16) {
      const Fragments& now = fragments[d / 16 % 2];
      Fragments& next = fragments[(d / 16 + 1) % 2];
      if (d + 16 < kDepthBf16) {
        next.load(stages[step % kStages], warp_row, warp_col, d + 16);
      } else if ((step + 1) * kDepthBf16 < k) {
        await_step();
        next.load(stages[(step + 1) % kStages], warp_row, warp_col, 0);
      }
      if (d == 0) fetch(step + kStages - 1);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j)
          multiply_add(sum[i][j], now.a[i], now.b[j / 2][j % 2 * 2], now.b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }

  // Through shared memory to 16-byte stores. Lane 4g + t has rows g and g + 8, columns 2t and
  // 2t + 1 of each 16 x 8 tile.
  __syncthreads();
  __nv_bfloat16* out = reinterpret_cast<__nv_bfloat16*>(shared);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = warp_row + 16 * i + 8 * half + lane / 4;
        const int at = place(row, warp_col / kChunk + j, kTileBf16) + lane % 4 * 2;
        *reinterpret_cast<__nv_bfloat162*>(&out[at]) =
            __floats2bfloat162_rn(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
      }
    }
  }
  __syncthreads();
  for (int i = thread; i < kTileBf16 * kChunksB; i += kThreadsBf16) {
    const int row = i / kChunksB;
    const int col = i % kChunksB * kChunk;
    if (row0 + row < m && col0 + col < n) {
      *reinterpret_cast<uint4*>(&c[(size_t)(row0 + row) * n + col0 + col]) =
          *reinterpret_cast<const uint4*>(&out[place(row, col / kChunk, kTileBf16)]);
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
    gemm_bf16<<<grid, kThreadsBf16, kSharedBf16, stream>>>(
        (const __nv_bfloat16*)x, (const __nv_bfloat16*)w, (__nv_bfloat16*)out, s.tokens, s.width,
        s.model);
  } else {
    gemm_fp32<<<grid, kThreads, 0, stream>>>((const float*)x, (const float*)w, (float*)out,
                                             s.tokens, s.width, s.model);
  }
  return cudaGetLastError();
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  *state = new State{context, shape};
  // More shared memory than 48 KiB has to be asked for.
  if (cudaFuncSetAttribute(gemm_bf16, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBf16) !=
      cudaSuccess) {
    return 3;
  }
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
