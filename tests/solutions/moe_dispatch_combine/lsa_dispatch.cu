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
#include <mma.h>
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

// bf16: 64 x 64 sums per block on the tensor cores, 32 x 32 per warp, three steps of depth in
// flight. Of each 32 columns of a gated tile, 16 are gates and 16 what they gate.
constexpr int kTileBf16 = 64;
constexpr int kDepthBf16 = 32;
constexpr int kThreadsBf16 = 128;
constexpr int kPad = 8;
constexpr int kStages = 4;

struct StageBf16 {
  __nv_bfloat16 a[kTileBf16][kDepthBf16 + kPad];
  __nv_bfloat16 b[kDepthBf16][kTileBf16 + kPad];
};

template <bool kGated, typename RowAt>
__device__ void expert_bf16(const __nv_bfloat16* a,
                            const __nv_bfloat16* __restrict__ b,
                            int m,
                            int columns,
                            int k,
                            RowAt row_at) {
  using namespace nvcuda;
  __shared__ __align__(16) StageBf16 stages[kStages];
  __shared__ __align__(16) float staging[kThreadsBf16 / 32][16][16];
  const int row0 = blockIdx.y * kTileBf16;
  if (row0 >= m) return;
  const int half = columns / 2;
  const int width = kGated ? half : columns;
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int warp_row = warp / 2 * 32;
  const int warp_col = warp % 2 * 32;
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
      int from = kGated ? blockIdx.x * (kTileBf16 / 2) + col / 32 * 16 + col % 16
                        : blockIdx.x * kTileBf16 + col;
      const bool inside = from < width && k0 + row < k;
      if (kGated && col % 32 >= 16) from += half;
      __pipeline_memcpy_async(&stage.b[row][col],
                              inside ? &b[(size_t)(k0 + row) * columns + from] : b, 16,
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
  const bool idle = row0 + warp_row >= m;  // few rows: these warps only help to fetch
  for (int k0 = 0, step = 0; k0 < k; k0 += kDepthBf16, ++step) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // this step is here, and everybody is done with the one before
    fetch(step + kStages - 1);
    if (idle) continue;
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
  if (idle) return;

  const int lane_row = lane / 2;
  const int lane_col = lane % 2 * 8;
  for (int i = 0; i < 2; ++i) {
    if (kGated) {
      for (int e = 0; e < sum[i][0].num_elements; ++e)
        sum[i][0].x[e] = silu(sum[i][0].x[e]) * sum[i][1].x[e];
    }
    for (int j = 0; j < (kGated ? 1 : 2); ++j) {
      wmma::store_matrix_sync(&staging[warp][0][0], sum[i][j], 16, wmma::mem_row_major);
      __syncwarp();
      const int row = row0 + warp_row + 16 * i + lane_row;
      const int col = kGated ? blockIdx.x * (kTileBf16 / 2) + warp_col / 2 + lane_col
                             : blockIdx.x * kTileBf16 + warp_col + 16 * j + lane_col;
      if (row < m && col < width) {
        __align__(16) __nv_bfloat16 out[8];
        for (int e = 0; e < 8; ++e)
          out[e] = __float2bfloat16(staging[warp][lane_row][lane_col + e]);
        *reinterpret_cast<uint4*>((__nv_bfloat16*)row_at(row) + col) =
            *reinterpret_cast<uint4*>(out);
      }
      __syncwarp();
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
  ncclDevCommRequirements requirements{};
  requirements.lsaBarrierCount = 1;
  return ncclDevCommCreate(context.comm, &requirements, &s.comm) == ncclSuccess ? 0 : 4;
}

template <typename T>
void run_experts(const State& s, const void* w13, const void* w2, cudaStream_t stream) {
  const Shape& shape = s.shape;
  const int first = s.context.rank * s.local;
  const int threads = sizeof(T) == 2 ? kThreadsBf16 : kThreads;
  // A rank without rows still meets the others.
  const int rows = s.most_rows > kTile ? (s.most_rows + kTile - 1) / kTile : 1;
  const auto grid = [&](int width, int columns) {
    return dim3((width + columns - 1) / columns, rows, s.local);
  };
  gate_and_up<T><<<grid(shape.inter, kTile / 2), threads, 0, stream>>>(
      (const T*)s.inbox, (const T*)w13, (T*)s.active, s.plan, first, s.context.ranks, shape.inter,
      shape.hidden);
  down_and_home<T><<<grid(shape.hidden, kTile), threads, 0, stream>>>(
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
  return cudaGetLastError() == cudaSuccess ? 0 : 5;
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
