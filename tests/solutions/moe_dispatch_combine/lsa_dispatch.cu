// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// moe_dispatch_combine by hand, without host collectives: rows are stored straight into their
// experts' inboxes on the other ranks, and results straight into their owners' return buffers
// (LSA). Two meetings, each by the last block of the kernel before it; four kernels in all.
//
// hidden and inter are multiples of 16; tokens is any number.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <nccl_device.h>
// cuco: evolve end

#include "cuco/workload.h"

namespace {

struct Shape {
  int tokens, hidden, inter, experts, top, skew;
  bool empty, bf16;
};

constexpr int kMaxExperts = 256;

// How many tokens of each rank go to each expert: the same on every rank. Which ones is in `route`,
// and differs. Expert e lives on rank e / (experts / ranks).
void find_quotas(const Shape& s, int* quota) {
  const int used = s.experts - (s.empty ? 1 : 0);
  const auto weight = [&](int e) -> long long {
    return used > 1 ? used - 1 + (s.skew - 1) * (used - 1 - e) : 1;
  };
  const long long slots = (long long)s.tokens * s.top;
  long long all = 0, left = slots;
  for (int e = 0; e < used; ++e)
    all += weight(e);
  for (int e = 0; e < s.experts; ++e) {
    const long long share = e < used ? slots * weight(e) / all : 0;
    quota[e] = (int)(share < s.tokens ? share : s.tokens);
    left -= quota[e];
  }
  for (int e = 0; left > 0; e = (e + 1) % used) {
    if (quota[e] == s.tokens) continue;
    ++quota[e];
    --left;
  }
}

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

// Meets the other ranks: all that was stored before is there afterwards, on all of them.
__device__ void meet(const ncclDevComm& comm) {
  ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier(block, comm, ncclTeamTagLsa(), 0);
  barrier.sync(block, cuda::memory_order_acq_rel);
}

constexpr int kThreads = 256;

// Rows of each expert: where they begin among those that leave a rank, and in the inbox of the
// expert's own rank; how many come from each rank.
struct Plan {
  int leaving[kMaxExperts];
  int arriving[kMaxExperts];
  int quota[kMaxExperts];
};

// Takes every row of x straight to the inboxes of its experts (LSA): block (e, part) looks after
// the tokens of expert e in one part of the slots. The last block meets the other ranks.
__global__ void __launch_bounds__(kThreads) dispatch(ncclDevComm comm,
                                                     const uint4* __restrict__ x,
                                                     const int* __restrict__ route,
                                                     ncclWindow_t inbox,
                                                     int* __restrict__ row_of_slot,
                                                     Plan plan,
                                                     int slots,
                                                     int top,
                                                     int vectors,
                                                     unsigned* arrived) {
  __shared__ int counts[kThreads / 32];
  __shared__ int found[kThreads];  // slots of this expert, in order
  const int expert = blockIdx.x;
  const int home = expert / (gridDim.x / comm.nRanks);
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int part = (slots + gridDim.y - 1) / gridDim.y;
  const int begin = blockIdx.y * part;
  const int end = min(slots, begin + part);

  int before = 0;
  for (int slot = threadIdx.x; slot < begin; slot += kThreads)
    before += route[slot] == expert;
  before = __reduce_add_sync(~0u, before);
  if (lane == 0) counts[warp] = before;
  __syncthreads();
  before = 0;
  for (int w = 0; w < kThreads / 32; ++w)
    before += counts[w];

  const int first = plan.arriving[expert] + comm.rank * plan.quota[expert];
  for (int slot0 = begin; slot0 < end; slot0 += kThreads) {
    const int slot = slot0 + threadIdx.x;
    const bool mine = slot < end && route[slot] == expert;
    const unsigned lanes = __ballot_sync(~0u, mine);
    __syncthreads();
    if (lane == 0) counts[warp] = __popc(lanes);
    __syncthreads();
    int place = __popc(lanes & ((1u << lane) - 1)), total = 0;
    for (int w = 0; w < kThreads / 32; ++w) {
      if (w < warp) place += counts[w];
      total += counts[w];
    }
    if (mine) {
      found[place] = slot;
      row_of_slot[slot] = plan.leaving[expert] + before + place;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < total * vectors; i += kThreads) {
      const int row = i / vectors;
      const size_t at = (size_t)(first + before + row) * vectors + i % vectors;
      reinterpret_cast<uint4*>(ncclGetLsaPointer(inbox, 0, home))[at] =
          x[(size_t)(found[row] / top) * vectors + i % vectors];
    }
    before += total;
  }
  if (last_block(arrived)) meet(comm);
}

__device__ float2 to_floats(float2 v) {
  return v;
}
__device__ float2 to_floats(__nv_bfloat162 v) {
  return __bfloat1622float2(v);
}
__device__ void store(float2* at, float2 v) {
  *at = v;
}
__device__ void store(__nv_bfloat162* at, float2 v) {
  *at = __float22bfloat162_rn(v);
}

// out[token] = sum of gate * row, in fp32. Pair: two elements.
template <typename Pair>
__global__ void __launch_bounds__(kThreads) combine(const Pair* __restrict__ rows,
                                                    const int* __restrict__ row_of_slot,
                                                    const float* __restrict__ gate,
                                                    Pair* __restrict__ out,
                                                    int top,
                                                    int pairs) {
  const size_t token = blockIdx.x;
  for (int i = threadIdx.x; i < pairs; i += kThreads) {
    float2 sum = make_float2(0, 0);
    for (int j = 0; j < top; ++j) {
      const float2 v = to_floats(rows[(size_t)row_of_slot[token * top + j] * pairs + i]);
      const float weight = gate[token * top + j];
      sum.x += weight * v.x;
      sum.y += weight * v.y;
    }
    store(&out[token * pairs + i], sum);
  }
}

__device__ float silu(float v) {
  return v / (1.0f + __expf(-v));
}

// Where results go: home to the rank that a row came from (LSA), or to local memory.
struct Home {
  ncclWindow_t returned;
  int begin;  // of this expert's rows, on every rank
  int quota;
  __device__ char* row(int row, size_t bytes) const {
    return (char*)ncclGetLsaPointer(returned, (begin + row % quota) * bytes, row / quota);
  }
};

// Grouped GEMM: rows of local expert blockIdx.z times its matrix b[k, columns]. kGated: the left
// half of b's columns gate the right half. A row of c begins where `row_at` says.
//
// fp32: 64 x 64 sums per block, 4 x 4 per thread: columns {2t, 2t+1} of either half of the tile.
constexpr int kTile = 64;
constexpr int kDepth = 16;

template <bool kGated, typename RowAt>
__device__ void expert_fp32(
    const float* a, const float* __restrict__ b, int m, int columns, int k, RowAt row_at) {
  __shared__ __align__(16) float a_tile[kDepth][kTile + 4];
  __shared__ __align__(16) float b_tile[kDepth][kTile + 4];
  const int row0 = blockIdx.y * kTile;
  if (row0 >= m) return;
  const int half = columns / 2;
  const int width = kGated ? half : columns;
  const int thread = threadIdx.x;
  const int thread_row = thread / 16 * 4;
  const int thread_col = thread % 16 * 2;
  const auto source = [&](int col) {
    const int at = kGated ? blockIdx.x * (kTile / 2) + col % (kTile / 2) : blockIdx.x * kTile + col;
    if (at >= width) return -1;
    return kGated && col >= kTile / 2 ? half + at : at;
  };
  const int a_row = thread / 4;
  const int a_col = thread % 4 * 4;
  const int b_row = thread / 16;
  const int b_col = thread % 16 * 4;
  const int from = source(b_col);
  float4 av, bv;  // the next step, on its way
  const auto fetch = [&](int k0) {
    av = bv = make_float4(0, 0, 0, 0);
    if (row0 + a_row < m)
      av = *reinterpret_cast<const float4*>(&a[(size_t)(row0 + a_row) * k + k0 + a_col]);
    if (from >= 0) bv = *reinterpret_cast<const float4*>(&b[(size_t)(k0 + b_row) * columns + from]);
  };
  float sum[4][4] = {};
  fetch(0);
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    a_tile[a_col + 0][a_row] = av.x;
    a_tile[a_col + 1][a_row] = av.y;
    a_tile[a_col + 2][a_row] = av.z;
    a_tile[a_col + 3][a_row] = av.w;
    *reinterpret_cast<float4*>(&b_tile[b_row][b_col]) = bv;
    __syncthreads();
    if (k0 + kDepth < k) fetch(k0 + kDepth);
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const float4 ar = *reinterpret_cast<const float4*>(&a_tile[d][thread_row]);
      const float2 bl = *reinterpret_cast<const float2*>(&b_tile[d][thread_col]);
      const float2 br = *reinterpret_cast<const float2*>(&b_tile[d][kTile / 2 + thread_col]);
      const float ra[4] = {ar.x, ar.y, ar.z, ar.w};
      const float rb[4] = {bl.x, bl.y, br.x, br.y};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sum[i][j] += ra[i] * rb[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4 && row0 + thread_row + i < m; ++i) {
    float* row = (float*)row_at(row0 + thread_row + i);
    if (kGated) {
      const int col = blockIdx.x * (kTile / 2) + thread_col;
      if (col < width) {
        *reinterpret_cast<float2*>(&row[col]) =
            make_float2(silu(sum[i][0]) * sum[i][2], silu(sum[i][1]) * sum[i][3]);
      }
    } else {
      for (int j = 0; j < 4; j += 2) {
        const int col = blockIdx.x * kTile + j / 2 * (kTile / 2) + thread_col;
        if (col < width)
          *reinterpret_cast<float2*>(&row[col]) = make_float2(sum[i][j], sum[i][j + 1]);
      }
    }
  }
}

// bf16: 128 x 128 sums per block on the tensor cores, 64 x 64 per warp. The left half of a gated
// tile's columns are gates, the right half what they gate; a warp takes 32 of either.
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

  // b: 8 gates and the 8 columns that they gate, or 16 neighbours.
  template <bool kGated>
  __device__ void load(const StageBf16& stage, int row, int col, int depth) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      load_matrices<false>(
          a[i], &stage.a[place(row + 16 * i + lane % 16, depth / kChunk + lane / 16, kDepthBf16)]);
      const int chunk = kGated ? col / 16 + i + lane / 16 * (kTileBf16 / kChunk / 2)
                               : (col + 16 * i) / kChunk + lane / 16;
      load_matrices<true>(b[i], &stage.b[place(depth + lane % 16, chunk, kTileBf16)]);
    }
  }
};

template <bool kGated, typename RowAt>
__device__ void expert_bf16(const __nv_bfloat16* a,
                            const __nv_bfloat16* __restrict__ b,
                            int m,
                            int columns,
                            int k,
                            RowAt row_at) {
  constexpr int kCols = kGated ? kTileBf16 / 2 : kTileBf16;  // of c, per block
  extern __shared__ __align__(128) char shared[];
  StageBf16* stages = reinterpret_cast<StageBf16*>(shared);
  const int row0 = blockIdx.y * kTileBf16;
  if (row0 >= m) return;
  const int width = kGated ? columns / 2 : columns;  // of c
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int col0 = blockIdx.x * kCols;
  const int warp_row = warp / 2 * 64;
  const int warp_col = warp % 2 * 64;

  // Starts the copy of a step, and counts it even where there is none left. Every thread copies one
  // chunk of each 16th row of A and of each 8th row of B; what lies outside is zero.
  constexpr int kChunksA = kDepthBf16 / kChunk;
  constexpr int kChunksB = kTileBf16 / kChunk;
  const int a_row = thread / kChunksA;
  const int a_col = thread % kChunksA * kChunk;
  const int b_row = thread / kChunksB;
  const int b_chunk = thread % kChunksB;
  const int b_col = col0 + b_chunk * kChunk % kCols;  // of c
  const __nv_bfloat16* a_next = a + (size_t)(row0 + a_row) * k + a_col;
  const __nv_bfloat16* b_next =
      b + (size_t)b_row * columns + b_col + b_chunk * kChunk / kCols * width;
  const int a_rows = m - row0 - a_row;
  const bool b_inside = b_col < width;
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
        __pipeline_memcpy_async(&stage.b[place(b_row, b_chunk, kTileBf16) + row * kTileBf16],
                                inside ? b_next + row * columns : b, 16, inside ? 0 : 16);
      }
      a_next += kDepthBf16;
      b_next += (size_t)kDepthBf16 * columns;
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
  fragments[0].template load<kGated>(stages[0], warp_row, warp_col, 0);
  for (int step = 0; step * kDepthBf16 < k; ++step) {
#pragma unroll
    for (int d = 0; d < kDepthBf16; d += 16) {
      const Fragments& now = fragments[d / 16 % 2];
      Fragments& next = fragments[(d / 16 + 1) % 2];
      if (d + 16 < kDepthBf16) {
        next.template load<kGated>(stages[step % kStages], warp_row, warp_col, d + 16);
      } else if ((step + 1) * kDepthBf16 < k) {
        await_step();
        next.template load<kGated>(stages[(step + 1) % kStages], warp_row, warp_col, 0);
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
    for (int j = 0; j < 8; j += kGated ? 2 : 1) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float2 v = make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
        if (kGated) {
          v.x = silu(v.x) * sum[i][j + 1][2 * half];
          v.y = silu(v.y) * sum[i][j + 1][2 * half + 1];
        }
        const int row = warp_row + 16 * i + 8 * half + lane / 4;
        const int chunk = (warp_col / kChunk + j) / (kGated ? 2 : 1);
        *reinterpret_cast<__nv_bfloat162*>(&out[place(row, chunk, kCols) + lane % 4 * 2]) =
            __floats2bfloat162_rn(v.x, v.y);
      }
    }
  }
  __syncthreads();
  for (int i = thread; i < kTileBf16 * kCols / kChunk; i += kThreadsBf16) {
    const int row = i / (kCols / kChunk);
    const int col = i % (kCols / kChunk) * kChunk;
    if (row0 + row < m && col0 + col < width) {
      *reinterpret_cast<uint4*>((__nv_bfloat16*)row_at(row0 + row) + col0 + col) =
          *reinterpret_cast<const uint4*>(&out[place(row, col / kChunk, kCols)]);
    }
  }
}

template <typename T, bool kGated, typename RowAt>
__device__ void expert(const T* a, const T* b, int m, int columns, int k, RowAt row_at) {
  if constexpr (sizeof(T) == 2) {
    expert_bf16<kGated>(a, b, m, columns, k, row_at);
  } else {
    expert_fp32<kGated>(a, b, m, columns, k, row_at);
  }
}

// Both products: inbox -> activations here -> results at home. first: this rank's first expert.
template <typename T>
__global__ void __launch_bounds__(kThreads) gate_and_up(const T* inbox,
                                                        const T* w13,
                                                        T* active,
                                                        Plan plan,
                                                        int first,
                                                        int ranks,
                                                        int inter,
                                                        int hidden) {
  const int e = first + blockIdx.z;
  const size_t begin = plan.arriving[e];
  expert<T, true>(inbox + begin * hidden, w13 + (size_t)blockIdx.z * hidden * 2 * inter,
                  plan.quota[e] * ranks, 2 * inter, hidden,
                  [=](int row) { return (char*)(active + (begin + row) * inter); });
}

template <typename T>
__global__ void __launch_bounds__(kThreads) down_and_home(ncclDevComm comm,
                                                          const T* active,
                                                          const T* w2,
                                                          ncclWindow_t returned,
                                                          Plan plan,
                                                          int first,
                                                          int inter,
                                                          int hidden,
                                                          unsigned* arrived) {
  const int e = first + blockIdx.z;
  const Home home = {returned, plan.leaving[e], plan.quota[e]};
  expert<T, false>(active + (size_t)plan.arriving[e] * inter,
                   w2 + (size_t)blockIdx.z * inter * hidden, plan.quota[e] * comm.nRanks, hidden,
                   inter, [=](int row) { return home.row(row, hidden * sizeof(T)); });
  if (last_block(arrived)) meet(comm);
}

// cuco: evolve end

// cuco: evolve begin host

struct State {
  cuco_context context;
  Shape shape;
  int local;  // experts on this rank
  int most_rows;
  Plan plan;
  ncclDevComm comm;
  int* row_of_slot;
  char* active;
  unsigned* arrived;
  void* inbox;     // rows that arrive, by local expert, then by rank
  void* returned;  // results that come home, by expert
  ncclWindow_t inbox_window;
  ncclWindow_t returned_window;
};

size_t element(const Shape& s) {
  return s.bf16 ? 2 : 4;
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  State& s = *(*state = new State{context, shape});
  if (shape.experts > kMaxExperts || shape.experts % context.ranks != 0) return 1;
  s.local = shape.experts / context.ranks;
  find_quotas(shape, s.plan.quota);
  int leaving = 0, most = 0;  // rows that leave a rank; rows that arrive at the fullest one
  for (int home = 0; home < context.ranks; ++home) {
    int arriving = 0;
    for (int e = home * s.local; e < (home + 1) * s.local; ++e) {
      s.plan.leaving[e] = leaving;
      s.plan.arriving[e] = arriving;
      leaving += s.plan.quota[e];
      arriving += s.plan.quota[e] * context.ranks;
      if (home == context.rank && s.plan.quota[e] * context.ranks > s.most_rows)
        s.most_rows = s.plan.quota[e] * context.ranks;
    }
    if (arriving > most) most = arriving;
  }
  const size_t row = shape.hidden * element(shape);
  const auto window = [&](void** memory, ncclWindow_t* to, size_t bytes) {
    return ncclMemAlloc(memory, bytes) == ncclSuccess &&
           ncclCommWindowRegister(context.comm, *memory, bytes, to, NCCL_WIN_COLL_SYMMETRIC) ==
               ncclSuccess;
  };
  if (!window(&s.inbox, &s.inbox_window, most * row)) return 2;
  if (!window(&s.returned, &s.returned_window, leaving * row)) return 2;
  if (cudaMalloc(&s.row_of_slot, leaving * sizeof(int)) != cudaSuccess) return 3;
  if (cudaMalloc(&s.active, (size_t)most * shape.inter * element(shape)) != cudaSuccess) return 3;
  if (cudaMalloc(&s.arrived, sizeof(unsigned)) != cudaSuccess) return 3;
  if (cudaMemset(s.arrived, 0, sizeof(unsigned)) != cudaSuccess) return 3;
  // More shared memory than 48 KiB has to be asked for.
  const auto allow = [](auto* kernel) {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBf16) ==
           cudaSuccess;
  };
  if (!allow(gate_and_up<__nv_bfloat16>) || !allow(down_and_home<__nv_bfloat16>)) return 5;
  ncclDevCommRequirements requirements{};
  requirements.lsaBarrierCount = 1;
  return ncclDevCommCreate(context.comm, &requirements, &s.comm) == ncclSuccess ? 0 : 4;
}

template <typename T>
void run_experts(const State& s, const void* w13, const void* w2, cudaStream_t stream) {
  const Shape& shape = s.shape;
  const int first = s.context.rank * s.local;
  constexpr bool kBf16 = sizeof(T) == 2;
  constexpr int kRows = kBf16 ? kTileBf16 : kTile;
  constexpr int kBlock = kBf16 ? kThreadsBf16 : kThreads;
  constexpr int kShared = kBf16 ? kSharedBf16 : 0;
  // A rank without rows still meets the others.
  const int rows = s.most_rows > kRows ? (s.most_rows + kRows - 1) / kRows : 1;
  const auto grid = [&](int width, int columns) {
    return dim3((width + columns - 1) / columns, rows, s.local);
  };
  gate_and_up<T><<<grid(shape.inter, kRows / 2), kBlock, kShared, stream>>>(
      (const T*)s.inbox, (const T*)w13, (T*)s.active, s.plan, first, s.context.ranks, shape.inter,
      shape.hidden);
  down_and_home<T><<<grid(shape.hidden, kRows), kBlock, kShared, stream>>>(
      s.comm, (const T*)s.active, (const T*)w2, s.returned_window, s.plan, first, shape.inter,
      shape.hidden, s.arrived);
}

int run(State& s, int set, cudaStream_t stream) {
  const Shape& shape = s.shape;
  void* const* in = s.context.inputs + set * s.context.n_inputs;  // X, W13, W2, route, gate
  void* out = s.context.outputs[set * s.context.n_outputs];
  const float* gate = (const float*)in[4];
  const int slots = shape.tokens * shape.top;
  const int vectors = (int)(shape.hidden * element(shape) / sizeof(uint4));
  const int parts = 1 + 128 / shape.experts;  // about one block per SM
  dispatch<<<dim3(shape.experts, parts), kThreads, 0, stream>>>(
      s.comm, (const uint4*)in[0], (const int*)in[3], s.inbox_window, s.row_of_slot, s.plan, slots,
      shape.top, vectors, s.arrived);
  if (shape.bf16) {
    run_experts<__nv_bfloat16>(s, in[1], in[2], stream);
    combine<<<shape.tokens, kThreads, 0, stream>>>((const __nv_bfloat162*)s.returned, s.row_of_slot,
                                                   gate, (__nv_bfloat162*)out, shape.top,
                                                   shape.hidden / 2);
  } else {
    run_experts<float>(s, in[1], in[2], stream);
    combine<<<shape.tokens, kThreads, 0, stream>>>((const float2*)s.returned, s.row_of_slot, gate,
                                                   (float2*)out, shape.top, shape.hidden / 2);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 6;
}

void teardown(State* state) {
  ncclDevCommDestroy(state->context.comm, &state->comm);
  ncclCommWindowDeregister(state->context.comm, state->inbox_window);
  ncclCommWindowDeregister(state->context.comm, state->returned_window);
  ncclMemFree(state->inbox);
  ncclMemFree(state->returned);
  cudaFree(state->row_of_slot);
  cudaFree(state->active);
  cudaFree(state->arrived);
  delete state;
}

// cuco: evolve end

}  // namespace

extern "C" int cuco_setup(const cuco_context* context, void** state) {
  const long long* p = context->params;
  const Shape shape = {(int)p[0], (int)p[1], (int)p[2], (int)p[3],
                       (int)p[4], (int)p[5], p[6] != 0, p[7] != 0};
  return setup(*context, shape, (State**)state);
}

extern "C" int cuco_run(void* state, int set, cudaStream_t stream) {
  return run(*(State*)state, set, stream);
}

extern "C" void cuco_teardown(void* state) {
  teardown((State*)state);
}
