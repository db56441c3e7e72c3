// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// gemm_allgather by hand, over the network: one kernel computes this rank's rows, chunk by chunk of
// whole rows, and the last block of a chunk puts it to all peers (GIN) while the next ones are
// computed. The last chunk's block waits at the end for what the peers have sent.
//
// n and k are multiples of 16; m is any size.
#include <algorithm>

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <nccl_device.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

struct Shape {
  int m, n, k;
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

// What a launch computes: strips of rows, as high as a tile, in chunks of one or more strips.
constexpr int kMostChunks = 32;
struct Plan {
  int chunks, columns;         // columns of tiles
  int first[kMostChunks + 1];  // strip of each chunk, and behind the last
};

struct Tile {
  int row, column, chunk;
};

// The block's tile. Chunks follow each other, so that the first ones are done early; within a chunk
// tiles go down its columns: those that are computed at the same time share rows of A and columns
// of B.
__device__ Tile tile_of(const Plan& plan) {
  const int block = blockIdx.x;
  int chunk = 0;
  while (block >= plan.first[chunk + 1] * plan.columns)
    ++chunk;
  const int within = block - plan.first[chunk] * plan.columns;
  const int strips = plan.first[chunk + 1] - plan.first[chunk];
  return {plan.first[chunk] + within % strips, within / strips, chunk};
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
                               Tile tile,
                               Put put) {
  __shared__ __align__(16) float a_tile[2][kDepth][kTile + 4];  // transposed
  __shared__ __align__(16) float b_tile[2][kDepth][kTile + 4];
  const int thread = threadIdx.x;
  const int row0 = tile.row * kTile;
  const int col0 = tile.column * kTile;
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
                               Tile tile,
                               Put put) {
  extern __shared__ __align__(128) char shared[];
  StageBf16* stages = reinterpret_cast<StageBf16*>(shared);
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int row0 = tile.row * kTileBf16;
  const int col0 = tile.column * kTileBf16;
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
      put((size_t)(row0 + row) * n + col0 + col,
          *reinterpret_cast<const uint4*>(&out[place(row, col / kChunk, kTileBf16)]));
    }
  }
}

// All ranks' rows. A rank sends its own from where it has computed them.
struct Gathered {
  ncclWindow_t window;
  size_t offset;     // of this rank's rows, in bytes
  size_t bytes;      // of them
  size_t strip;      // of a strip of rows
  unsigned* counts;  // [chunk]: tiles that are done; then blocks that have begun, and chunks sent
  uint64_t launch;   // 1, 2, 3, …
};

constexpr ncclGinSignal_t kEntered = 0;  // peers' launches that have begun: their C may be written
constexpr ncclGinSignal_t kArrived = 1;  // chunks of peers, ever
constexpr ncclGinCounter_t kRead = 0;    // own chunks whose rows may be written again, ever

__device__ int neighbour(const ncclDevComm& comm, int distance) {
  return (comm.rank + distance) % comm.nRanks;
}

// The first block to begin tells all peers, before any block waits for one.
__device__ void enter(const ncclDevComm& comm, const Gathered& c) {
  if (threadIdx.x >= 32) return;
  unsigned before = 0;
  if (threadIdx.x == 0) before = atomicInc(&c.counts[kMostChunks], gridDim.x - 1);
  if (__shfl_sync(~0u, before, 0) != 0) return;
  ncclGin gin(comm, 0);
  for (int i = 1 + threadIdx.x; i < comm.nRanks; i += 32)
    gin.signal(ncclTeamWorld(comm), neighbour(comm, i), ncclGin_SignalInc{kEntered});
}

// By all blocks, with their tile in memory: the last one of a chunk sends it. Nothing waits for the
// network before the last chunk is sent: only then nothing is left to compute.
__device__ __noinline__ void tile_done(const ncclDevComm& comm,
                                       const Plan& plan,
                                       const Gathered& c,
                                       int chunk) {
  const int strips = plan.first[chunk + 1] - plan.first[chunk];
  if (!last_of(&c.counts[chunk], strips * plan.columns)) return;
  if (threadIdx.x >= 32) return;
  ncclGin gin(comm, 0);
  const int peers = comm.nRanks - 1;
  gin.waitSignal(ncclCoopWarp(), kEntered, c.launch * peers);
  const size_t begin = plan.first[chunk] * c.strip;
  const size_t bytes = min(strips * c.strip, c.bytes - begin);
  for (int i = 1 + threadIdx.x; i < comm.nRanks; i += 32) {
    gin.put(ncclTeamWorld(comm), neighbour(comm, i), c.window, c.offset + begin, c.window,
            c.offset + begin, bytes, ncclGin_SignalInc{kArrived}, ncclGin_CounterInc{kRead});
  }
  __syncwarp();
  unsigned sent = 0;
  if (threadIdx.x == 0) sent = atomicInc(&c.counts[kMostChunks + 1], plan.chunks - 1);
  if (__shfl_sync(~0u, sent, 0) != plan.chunks - 1) return;
  gin.waitSignal(ncclCoopWarp(), kArrived, c.launch * plan.chunks * peers);
  gin.waitCounter(ncclCoopWarp(), kRead, c.launch * plan.chunks * peers);
}

template <typename T>
__device__ T* rows_of(const Gathered& c) {
  return (T*)ncclGetLocalPointer(c.window, c.offset);
}

__global__ void __launch_bounds__(kThreads, 4) gemm_fp32(const __grid_constant__ ncclDevComm comm,
                                                         const __grid_constant__ Plan plan,
                                                         const __grid_constant__ Gathered c,
                                                         const float* a,
                                                         const float* b,
                                                         int m,
                                                         int n,
                                                         int k) {
  enter(comm, c);
  const Tile tile = tile_of(plan);
  float* mine = rows_of<float>(c);
  gemm_fp32_tile(a, b, m, n, k, tile,
                 [=](size_t at, uint4 v) { *reinterpret_cast<uint4*>(&mine[at]) = v; });
  tile_done(comm, plan, c, tile.chunk);
}

__global__ void __launch_bounds__(kThreadsBf16) gemm_bf16(const __grid_constant__ ncclDevComm comm,
                                                          const __grid_constant__ Plan plan,
                                                          const __grid_constant__ Gathered c,
                                                          const __nv_bfloat16* a,
                                                          const __nv_bfloat16* b,
                                                          int m,
                                                          int n,
                                                          int k) {
  enter(comm, c);
  const Tile tile = tile_of(plan);
  __nv_bfloat16* mine = rows_of<__nv_bfloat16>(c);
  gemm_bf16_tile(a, b, m, n, k, tile,
                 [=](size_t at, uint4 v) { *reinterpret_cast<uint4*>(&mine[at]) = v; });
  tile_done(comm, plan, c, tile.chunk);
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
  ncclDevComm comm;
  ncclWindow_t* windows;  // one per buffer set
  Plan plan;
  unsigned* counts;
  uint64_t launch;
};

int strip_rows(const Shape& s) {
  return s.bf16 ? kTileBf16 : kTile;
}

// A put costs some microseconds besides its bytes, which is little against this many.
constexpr size_t kLeastPut = 1 << 20;

Plan plan_of(const Shape& s) {
  const int tile = strip_rows(s), strips = (s.m + tile - 1) / tile;
  const size_t strip = (size_t)tile * s.n * (s.bf16 ? 2 : 4);
  const int large = (kLeastPut + strip - 1) / strip;  // strips of such a put
  const int size = std::max(large, (strips + kMostChunks - 1) / kMostChunks);
  Plan plan = {(strips + size - 1) / size, (s.n + tile - 1) / tile, {}};
  for (int chunk = 0; chunk <= plan.chunks; ++chunk)
    plan.first[chunk] = std::min(chunk * size, strips);
  return plan;
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  State& s = *(*state = new State{
                   context, shape, {}, new ncclWindow_t[context.sets], plan_of(shape), nullptr, 0});
  for (int set = 0; set < context.sets; ++set) {
    if (ncclCommWindowRegister(context.comm, context.outputs[set], context.output_bytes[0],
                               &s.windows[set], NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
      return 1;
    }
  }
  if (cudaFuncSetAttribute(gemm_bf16, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBf16) !=
      cudaSuccess) {
    return 3;
  }
  ncclDevCommRequirements requirements{};
  requirements.ginForceEnable = true;
  requirements.ginSignalCount = 2;
  requirements.ginCounterCount = 1;
  if (ncclDevCommCreate(context.comm, &requirements, &s.comm) != ncclSuccess) return 2;
  const size_t bytes = (kMostChunks + 2) * sizeof(unsigned);
  if (cudaMalloc(&s.counts, bytes) != cudaSuccess) return 3;
  return cudaMemset(s.counts, 0, bytes) == cudaSuccess ? 0 : 3;
}

int run(State& state, int set, cudaStream_t stream) {
  const cuco_context& context = state.context;
  const Shape& s = state.shape;
  const void* a = context.inputs[set * context.n_inputs + 0];
  const void* b = context.inputs[set * context.n_inputs + 1];
  const size_t row = (size_t)s.n * (s.bf16 ? 2 : 4);
  const Gathered c = {state.windows[set], context.rank * s.m * row,
                      s.m * row,          strip_rows(s) * row,
                      state.counts,       ++state.launch};
  const Plan& plan = state.plan;
  const int blocks = plan.first[plan.chunks] * plan.columns;
  if (s.bf16) {
    using T = const __nv_bfloat16*;
    gemm_bf16<<<blocks, kThreadsBf16, kSharedBf16, stream>>>(state.comm, plan, c, (T)a, (T)b, s.m,
                                                             s.n, s.k);
  } else {
    using T = const float*;
    gemm_fp32<<<blocks, kThreads, 0, stream>>>(state.comm, plan, c, (T)a, (T)b, s.m, s.n, s.k);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 4;
}

void teardown(State* state) {
  ncclDevCommDestroy(state->context.comm, &state->comm);
  for (int set = 0; set < state->context.sets; ++set)
    ncclCommWindowDeregister(state->context.comm, state->windows[set]);
  cudaFree(state->counts);
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
