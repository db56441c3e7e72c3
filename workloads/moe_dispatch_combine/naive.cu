// SPDX-License-Identifier: Apache-2.0
// cuco: evolve begin preamble
// A mixture-of-experts layer, experts spread over the ranks: every token's row goes to the ranks of
// its experts, passes a gated MLP there, (silu(x·W1) * (x·W3)) · W2, and comes back to be added up
// with its gate weights. The host drives the communication: pack, grouped ncclSend and ncclRecv,
// two grouped GEMMs, the same way back, sum.
//
// hidden and inter are multiples of 16; tokens is any number.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nccl.h>
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

constexpr int kThreads = 256;

// Where the rows of each expert begin, among the rows that leave a rank.
struct Offsets {
  int of[kMaxExperts];
};

// One block per expert finds its tokens in order: slot (token, j) gets row offset + how many came
// before it.
__global__ void __launch_bounds__(kThreads) place_slots(const int* __restrict__ route,
                                                        int slots,
                                                        Offsets offsets,
                                                        int* __restrict__ row_of_slot) {
  __shared__ int counts[kThreads / 32];
  const int expert = blockIdx.x;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  int before = offsets.of[expert];
  for (int slot0 = 0; slot0 < slots; slot0 += kThreads) {
    const int slot = slot0 + threadIdx.x;
    const bool mine = slot < slots && route[slot] == expert;
    const unsigned lanes = __ballot_sync(~0u, mine);
    if (lane == 0) counts[warp] = __popc(lanes);
    __syncthreads();
    int row = before + __popc(lanes & ((1u << lane) - 1));
    for (int w = 0; w < kThreads / 32; ++w) {
      if (w < warp) row += counts[w];
      before += counts[w];
    }
    if (mine) row_of_slot[slot] = row;
    __syncthreads();
  }
}

// Copies the token's row to all its places, 16 bytes at a time.
__global__ void __launch_bounds__(kThreads) pack(const uint4* __restrict__ x,
                                                 const int* __restrict__ row_of_slot,
                                                 uint4* __restrict__ rows,
                                                 int top,
                                                 int vectors) {
  const size_t token = blockIdx.x;
  for (int i = threadIdx.x; i < vectors; i += kThreads) {
    const uint4 v = x[token * vectors + i];
    for (int j = 0; j < top; ++j)
      rows[(size_t)row_of_slot[token * top + j] * vectors + i] = v;
  }
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

// The rows of a rank's experts, one expert after the other.
struct Groups {
  int begin[kMaxExperts];
  int count[kMaxExperts];
};

// Grouped GEMM: rows of expert blockIdx.z times its matrix b[k, columns]. kGated: the left half of
// b's columns gate the right half, so that a tile has half as many columns of c.
//
// fp32: 64 x 64 sums per block, 4 x 4 per thread: columns {2t, 2t+1} of either half of the tile.
constexpr int kTile = 64;
constexpr int kDepth = 16;

template <bool kGated>
__global__ void __launch_bounds__(kThreads) experts_fp32(const float* __restrict__ a,
                                                         const float* __restrict__ b,
                                                         float* __restrict__ c,
                                                         Groups groups,
                                                         int columns,
                                                         int k) {
  __shared__ __align__(16) float a_tile[kDepth][kTile + 4];
  __shared__ __align__(16) float b_tile[kDepth][kTile + 4];
  const int m = groups.count[blockIdx.z];
  const int row0 = blockIdx.y * kTile;
  if (row0 >= m) return;
  a += (size_t)groups.begin[blockIdx.z] * k;
  b += (size_t)blockIdx.z * k * columns;
  const int half = columns / 2;
  const int width = kGated ? half : columns;  // of c
  c += (size_t)groups.begin[blockIdx.z] * width;
  const int thread = threadIdx.x;
  const int thread_row = thread / 16 * 4;
  const int thread_col = thread % 16 * 2;
  // Column of b for column `col` of the tile, or -1: the halves of the tile are gate and up, or
  // neighbours.
  const auto source = [&](int col) {
    const int at = kGated ? blockIdx.x * (kTile / 2) + col % (kTile / 2) : blockIdx.x * kTile + col;
    if (at >= width) return -1;
    return kGated && col >= kTile / 2 ? half + at : at;
  };

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
    const int from = source(b_col);
    float4 bv = make_float4(0, 0, 0, 0);
    if (from >= 0) {
      bv = *reinterpret_cast<const float4*>(&b[(size_t)(k0 + b_row) * columns + from]);
    }
    *reinterpret_cast<float4*>(&b_tile[b_row][b_col]) = bv;
    __syncthreads();
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
    float* row = &c[(size_t)(row0 + thread_row + i) * width];
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

// bf16: 64 x 128 sums per block on the tensor cores, 32 x 32 per warp. Of each 32 columns of a
// gated tile, 16 are gates and 16 what they gate, so that a thread has both in the same place of
// two fragments.
constexpr int kRowsBf16 = 64;
constexpr int kColsBf16 = 128;
constexpr int kDepthBf16 = 32;
constexpr int kPad = 8;

struct StageBf16 {
  __nv_bfloat16 a[kRowsBf16][kDepthBf16 + kPad];
  __nv_bfloat16 b[kDepthBf16][kColsBf16 + kPad];
};

template <bool kGated>
__global__ void __launch_bounds__(kThreads) experts_bf16(const __nv_bfloat16* __restrict__ a,
                                                         const __nv_bfloat16* __restrict__ b,
                                                         __nv_bfloat16* __restrict__ c,
                                                         Groups groups,
                                                         int columns,
                                                         int k) {
  using namespace nvcuda;
  __shared__ __align__(16) StageBf16 stages[2];
  __shared__ __align__(16) float staging[kThreads / 32][16][16];
  const int m = groups.count[blockIdx.z];
  const int row0 = blockIdx.y * kRowsBf16;
  if (row0 >= m) return;
  a += (size_t)groups.begin[blockIdx.z] * k;
  b += (size_t)blockIdx.z * k * columns;
  const int half = columns / 2;
  const int width = kGated ? half : columns;  // of c
  c += (size_t)groups.begin[blockIdx.z] * width;
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int warp_row = warp / 4 * 32;
  const int warp_col = warp % 4 * 32;

  // Starts the copy of one step of depth, 16 bytes at a time; what lies outside is zero.
  const auto fetch = [&](StageBf16& stage, int k0) {
    for (int i = thread; i < kRowsBf16 * kDepthBf16 / 8; i += kThreads) {
      const int row = i / (kDepthBf16 / 8);
      const int col = i % (kDepthBf16 / 8) * 8;
      const bool inside = row0 + row < m && k0 + col < k;
      __pipeline_memcpy_async(&stage.a[row][col],
                              inside ? &a[(size_t)(row0 + row) * k + k0 + col] : a, 16,
                              inside ? 0 : 16);
    }
    for (int i = thread; i < kDepthBf16 * kColsBf16 / 8; i += kThreads) {
      const int row = i / (kColsBf16 / 8);
      const int col = i % (kColsBf16 / 8) * 8;
      int from = blockIdx.x * kColsBf16 + col;
      bool inside = from < width;
      if (kGated) {
        from = blockIdx.x * (kColsBf16 / 2) + col / 32 * 16 + col % 16;
        inside = from < width;
        if (col % 32 >= 16) from += half;
      }
      inside = inside && k0 + row < k;
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
  fetch(stages[0], 0);
  for (int k0 = 0, step = 0; k0 < k; k0 += kDepthBf16, ++step) {
    const bool more = k0 + kDepthBf16 < k;
    if (more) fetch(stages[(step + 1) % 2], k0 + kDepthBf16);
    __pipeline_wait_prior(more ? 1 : 0);
    __syncthreads();
    const StageBf16& stage = stages[step % 2];
#pragma unroll
    for (int d = 0; d < kDepthBf16; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(fa[i], &stage.a[warp_row + 16 * i][d], kDepthBf16 + kPad);
        wmma::load_matrix_sync(fb[i], &stage.b[d][warp_col + 16 * i], kColsBf16 + kPad);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j)
          wmma::mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
      }
    }
    __syncthreads();
  }

  // Through shared memory to 16-byte stores: half a row of a fragment per lane.
  const int lane_row = lane / 2;
  const int lane_col = lane % 2 * 8;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < (kGated ? 1 : 2); ++j) {
      if (kGated) {
        for (int e = 0; e < sum[i][0].num_elements; ++e)
          sum[i][0].x[e] = silu(sum[i][0].x[e]) * sum[i][1].x[e];
      }
      wmma::store_matrix_sync(&staging[warp][0][0], sum[i][j], 16, wmma::mem_row_major);
      __syncwarp();
      const int row = row0 + warp_row + 16 * i + lane_row;
      const int col = kGated ? blockIdx.x * (kColsBf16 / 2) + warp_col / 2 + lane_col
                             : blockIdx.x * kColsBf16 + warp_col + 16 * j + lane_col;
      if (row < m && col < width) {
        __align__(16) __nv_bfloat16 out[8];
        for (int e = 0; e < 8; ++e)
          out[e] = __float2bfloat16(staging[warp][lane_row][lane_col + e]);
        *reinterpret_cast<uint4*>(&c[(size_t)row * width + col]) = *reinterpret_cast<uint4*>(out);
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
  int local;  // experts on this rank
  int quota[kMaxExperts];
  Offsets leaving;  // rows of expert e among those that leave a rank
  Groups arriving;  // rows of local expert l, from all ranks
  int most_rows;    // of one local expert
  int* row_of_slot;
  char* outbox;   // rows that leave, by expert
  char* inbox;    // rows that arrive, by local expert, then by rank
  char* active;   // activations of those
  char* results;  // of the experts
  char* returned;
};

size_t element(const Shape& s) {
  return s.bf16 ? 2 : 4;
}

int setup(const cuco_context& context, const Shape& shape, State** state) {
  State& s = *(*state = new State{context, shape});
  if (shape.experts > kMaxExperts || shape.experts % context.ranks != 0) return 1;
  s.local = shape.experts / context.ranks;
  find_quotas(shape, s.quota);
  int leaving = 0, arriving = 0;
  for (int e = 0; e < shape.experts; ++e) {
    s.leaving.of[e] = leaving;
    leaving += s.quota[e];
    if (e / s.local != context.rank) continue;
    const int rows = s.quota[e] * context.ranks;
    s.arriving.begin[e % s.local] = arriving;
    s.arriving.count[e % s.local] = rows;
    arriving += rows;
    if (rows > s.most_rows) s.most_rows = rows;
  }
  const size_t row = shape.hidden * element(shape);
  const struct {
    void** at;
    size_t bytes;
  } buffers[] = {
      {(void**)&s.row_of_slot, (size_t)leaving * sizeof(int)},
      {(void**)&s.outbox, leaving * row},
      {(void**)&s.inbox, arriving * row},
      {(void**)&s.active, (size_t)arriving * shape.inter * element(shape)},
      {(void**)&s.results, arriving * row},
      {(void**)&s.returned, leaving * row},
  };
  for (const auto& buffer : buffers) {
    if (cudaMalloc(buffer.at, buffer.bytes + 16) != cudaSuccess) return 2;
  }
  return 0;
}

// Exchanges the rows of all experts: from `leaving` to `arriving`, or back.
ncclResult_t exchange(
    const State& s, char* leaving, char* arriving, bool back, cudaStream_t stream) {
  const ncclDataType_t type = s.shape.bf16 ? ncclBfloat16 : ncclFloat32;
  const size_t row = s.shape.hidden * element(s.shape);
  ncclGroupStart();
  for (int e = 0; e < s.shape.experts; ++e) {
    if (s.quota[e] == 0) continue;
    const size_t count = (size_t)s.quota[e] * s.shape.hidden;
    const int home = e / s.local;
    char* at = leaving + s.leaving.of[e] * row;
    back ? ncclRecv(at, count, type, home, s.context.comm, stream)
         : ncclSend(at, count, type, home, s.context.comm, stream);
    if (home != s.context.rank) continue;
    for (int r = 0; r < s.context.ranks; ++r) {
      char* from = arriving + (s.arriving.begin[e % s.local] + (size_t)r * s.quota[e]) * row;
      back ? ncclSend(from, count, type, r, s.context.comm, stream)
           : ncclRecv(from, count, type, r, s.context.comm, stream);
    }
  }
  return ncclGroupEnd();
}

void run_experts(const State& s, const void* w13, const void* w2, cudaStream_t stream) {
  const Shape& shape = s.shape;
  if (s.most_rows == 0) return;
  const auto grid = [&](int rows, int columns, int width) {
    return dim3((width + columns - 1) / columns, (s.most_rows + rows - 1) / rows, s.local);
  };
  if (shape.bf16) {
    using T = __nv_bfloat16;
    experts_bf16<true><<<grid(kRowsBf16, kColsBf16 / 2, shape.inter), kThreads, 0, stream>>>(
        (const T*)s.inbox, (const T*)w13, (T*)s.active, s.arriving, 2 * shape.inter, shape.hidden);
    experts_bf16<false><<<grid(kRowsBf16, kColsBf16, shape.hidden), kThreads, 0, stream>>>(
        (const T*)s.active, (const T*)w2, (T*)s.results, s.arriving, shape.hidden, shape.inter);
  } else {
    experts_fp32<true><<<grid(kTile, kTile / 2, shape.inter), kThreads, 0, stream>>>(
        (const float*)s.inbox, (const float*)w13, (float*)s.active, s.arriving, 2 * shape.inter,
        shape.hidden);
    experts_fp32<false><<<grid(kTile, kTile, shape.hidden), kThreads, 0, stream>>>(
        (const float*)s.active, (const float*)w2, (float*)s.results, s.arriving, shape.hidden,
        shape.inter);
  }
}

int run(State& s, int set, cudaStream_t stream) {
  const Shape& shape = s.shape;
  void* const* in = s.context.inputs + set * s.context.n_inputs;  // X, W13, W2, route, gate
  void* out = s.context.outputs[set * s.context.n_outputs];
  const int* route = (const int*)in[3];
  const float* gate = (const float*)in[4];
  const int vectors = (int)(shape.hidden * element(shape) / sizeof(uint4));

  place_slots<<<shape.experts, kThreads, 0, stream>>>(route, shape.tokens * shape.top, s.leaving,
                                                      s.row_of_slot);
  pack<<<shape.tokens, kThreads, 0, stream>>>((const uint4*)in[0], s.row_of_slot, (uint4*)s.outbox,
                                              shape.top, vectors);
  if (exchange(s, s.outbox, s.inbox, false, stream) != ncclSuccess) return 1;
  run_experts(s, in[1], in[2], stream);
  if (exchange(s, s.returned, s.results, true, stream) != ncclSuccess) return 2;
  if (shape.bf16) {
    combine<<<shape.tokens, kThreads, 0, stream>>>((const __nv_bfloat162*)s.returned, s.row_of_slot,
                                                   gate, (__nv_bfloat162*)out, shape.top,
                                                   shape.hidden / 2);
  } else {
    combine<<<shape.tokens, kThreads, 0, stream>>>((const float2*)s.returned, s.row_of_slot, gate,
                                                   (float2*)out, shape.top, shape.hidden / 2);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 3;
}

void teardown(State* state) {
  cudaFree(state->row_of_slot);
  cudaFree(state->outbox);
  cudaFree(state->inbox);
  cudaFree(state->active);
  cudaFree(state->results);
  cudaFree(state->returned);
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
