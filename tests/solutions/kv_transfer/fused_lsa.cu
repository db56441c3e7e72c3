// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// kv_transfer by hand: one kernel computes K and V (blockIdx.z) and stores every tile into both
// ranks' copies (LSA); its last block meets rank 1, which has been waiting for nothing else.
//
// width and model are multiples of 16; tokens is any number.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
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

// Everything a block has stored, on any rank, comes before what follows on the last block that gets
// here; only that one returns true. Resets `arrived` for the next launch.
__device__ bool last_block(unsigned* arrived) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    last = atomicAdd(arrived, 1) == gridDim.x * gridDim.y * gridDim.z - 1;
    if (last) *arrived = 0;
    __threadfence_system();
  }
  __syncthreads();
  return last;
}

// A rank's outputs may be written once it has entered this run: every block says so when it starts,
// and waits for its peers' blocks before its first store; in between it computes.
struct Entry {
  ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier;

  __device__ explicit Entry(const ncclDevComm& comm)
      : barrier(block,
                comm,
                ncclTeamTagLsa(),
                1 + (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) {
    barrier.arrive(block, cuda::memory_order_release);
  }
  __device__ void wait() { barrier.wait(block, cuda::memory_order_acquire); }
};

// Meets the other ranks: all that was stored before is there afterwards, on all of them.
__device__ void meet(const ncclDevComm& comm) {
  ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier(block, comm, ncclTeamTagLsa(), 0);
  barrier.sync(block, cuda::memory_order_acq_rel);
}

// fp32: 64 x 64 of C per block, 4 x 4 per thread. `put` takes four neighbours of a row.
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kThreads = 256;

template <typename Put>
__device__ void gemm_fp32_tile(const float* __restrict__ a,
                               const float* __restrict__ b,
                               int m,
                               int n,
                               int k,
                               Entry& entry,
                               Put put) {
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
  entry.wait();
  if (col0 + thread_col >= n) return;
  for (int i = 0; i < 4 && row0 + thread_row + i < m; ++i) {
    const float4 v = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    put((size_t)(row0 + thread_row + i) * n + col0 + thread_col,
        *reinterpret_cast<const uint4*>(&v));
  }
}

// bf16: 128 x 128 of C per block on the tensor cores, 64 x 64 per warp, sums in fp32.
// `put` takes eight neighbours of a row.
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

template <typename Put>
__device__ void gemm_bf16_tile(const __nv_bfloat16* __restrict__ a,
                               const __nv_bfloat16* __restrict__ b,
                               int m,
                               int n,
                               int k,
                               Entry& entry,
                               Put put) {
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
  entry.wait();
  for (int i = thread; i < kTileBf16 * kChunksB; i += kThreadsBf16) {
    const int row = i / kChunksB;
    const int col = i % kChunksB * kChunk;
    if (row0 + row < m && col0 + col < n) {
      put((size_t)(row0 + row) * n + col0 + col,
          *reinterpret_cast<const uint4*>(&out[place(row, col / kChunk, kTileBf16)]));
    }
  }
}

// Where the two projections go, on both ranks.
struct Outputs {
  ncclWindow_t window[2];
};

// Stores 16 bytes to both ranks, the far one first.
__device__ void store_to_both(ncclWindow_t window, size_t byte, uint4 v) {
  *reinterpret_cast<uint4*>(ncclGetLsaPointer(window, byte, 1)) = v;
  *reinterpret_cast<uint4*>(ncclGetLsaPointer(window, byte, 0)) = v;
}

__global__ void __launch_bounds__(kThreads) project_fp32(ncclDevComm comm,
                                                         const float* x,
                                                         const float* wk,
                                                         const float* wv,
                                                         Outputs out,
                                                         int m,
                                                         int n,
                                                         int k,
                                                         unsigned* arrived) {
  Entry entry(comm);
  const ncclWindow_t window = out.window[blockIdx.z];
  gemm_fp32_tile(x, blockIdx.z == 0 ? wk : wv, m, n, k, entry,
                 [=](size_t at, uint4 v) { store_to_both(window, at * sizeof(float), v); });
  if (last_block(arrived)) meet(comm);
}

__global__ void __launch_bounds__(kThreadsBf16) project_bf16(ncclDevComm comm,
                                                             const __nv_bfloat16* x,
                                                             const __nv_bfloat16* wk,
                                                             const __nv_bfloat16* wv,
                                                             Outputs out,
                                                             int m,
                                                             int n,
                                                             int k,
                                                             unsigned* arrived) {
  Entry entry(comm);
  const ncclWindow_t window = out.window[blockIdx.z];
  gemm_bf16_tile(x, blockIdx.z == 0 ? wk : wv, m, n, k, entry,
                 [=](size_t at, uint4 v) { store_to_both(window, at * sizeof(*x), v); });
  if (last_block(arrived)) meet(comm);
}

__global__ void receive(ncclDevComm comm) {
  Entry(comm).wait();
  if (blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0) meet(comm);
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
  ncclDevComm comm;
  ncclWindow_t* windows;  // [set * 2 + output]
  unsigned* arrived;      // blocks of the running kernel that are done
};

dim3 grid_of(const Shape& s) {
  const int tile = s.bf16 ? kTileBf16 : kTile;
  return dim3((s.width + tile - 1) / tile, (s.tokens + tile - 1) / tile, 2);
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  const int count = context.sets * context.n_outputs;
  State& s = *(*state = new State{context, shape, {}, new ncclWindow_t[count], nullptr});
  for (int i = 0; i < count; ++i) {
    if (ncclCommWindowRegister(context.comm, context.outputs[i],
                               context.output_bytes[i % context.n_outputs], &s.windows[i],
                               NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  if (cudaFuncSetAttribute(project_bf16, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           kSharedBf16) != cudaSuccess) {
    return 3;
  }
  ncclDevCommRequirements requirements{};
  const dim3 grid = grid_of(shape);
  requirements.lsaBarrierCount = 1 + grid.x * grid.y * grid.z;
  if (ncclDevCommCreate(context.comm, &requirements, &s.comm) != ncclSuccess) return 2;
  if (cudaMalloc(&s.arrived, sizeof(unsigned)) != cudaSuccess) return 3;
  return cudaMemset(s.arrived, 0, sizeof(unsigned)) == cudaSuccess ? 0 : 3;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  void* const* in = context.inputs + set * context.n_inputs;  // X, Wk, Wv
  const Outputs out = {{state.windows[2 * set], state.windows[2 * set + 1]}};
  const dim3 grid = grid_of(s);
  if (context.rank != 0) {
    receive<<<grid, 32, 0, stream>>>(state.comm);
  } else if (s.bf16) {
    using T = const __nv_bfloat16*;
    project_bf16<<<grid, kThreadsBf16, kSharedBf16, stream>>>(
        state.comm, (T)in[0], (T)in[1], (T)in[2], out, s.tokens, s.width, s.model, state.arrived);
  } else {
    using T = const float*;
    project_fp32<<<grid, kThreads, 0, stream>>>(state.comm, (T)in[0], (T)in[1], (T)in[2], out,
                                                s.tokens, s.width, s.model, state.arrived);
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
